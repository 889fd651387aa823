using System.Collections;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.Serialization;
using ProtoRpc.Protocols.Headers;

namespace ProtoRpc.Protocols.Native;

/// <summary>A handler's exception as the original's <c>RpcExceptionInfo</c>, and back as data: no type that
/// the wire names is ever looked up or loaded.</summary>
internal static class ExceptionInfoCodec
{
    // What .NET Framework peers call the library of core types.
    private const string CoreLibrary =
        "mscorlib, Version=4.0.0.0, Culture=neutral, PublicKeyToken=b77a5c561934e089";
    private const int MaxInner = 32;

    // The prefix for a key of Exception.Data that is also the name of a member.
    private const string DataPrefix = "Data[";

    /// <summary>Encodes an exception at a level of detail.</summary>
    public static RpcExceptionInfo Encode(Exception error, RpcErrorDetail detail) =>
        Encode(error, detail, MaxInner);

    /// <summary>Encodes another server's exception at a level of detail.</summary>
    /// <param name="remote">The exception, as that server sent it.</param>
    /// <param name="text">What the caller reads.</param>
    /// <param name="detail">What else is sent to the caller.</param>
    public static RpcExceptionInfo Encode(RpcRemoteException remote, string text, RpcErrorDetail detail)
    {
        RpcExceptionInfo info = Encode(remote, detail, MaxInner);
        info.Message = text;
        return info;
    }

    /// <summary>The status of an exception: its own,
    /// or Unknown for one that knows nothing of statuses.</summary>
    public static RpcStatusCode StatusOf(Exception error) => error switch
    {
        RpcException rpc => rpc.Code,
        NotImplementedException or MissingMethodException => RpcStatusCode.Unimplemented,
        OperationCanceledException => RpcStatusCode.Cancelled,
        _ => RpcStatusCode.Unknown,
    };

    /// <summary>Replaces the serialized message by the readable one, where no original reads it.</summary>
    public static RpcExceptionInfo ForReaders(RpcExceptionInfo info)
    {
        for (RpcExceptionInfo? at = info; at is not null; at = at.InnerException)
        {
            if (at.HasExtension(ProtorpcTransportExtensions.DisplayMessage))
            {
                at.Message = at.GetExtension(ProtorpcTransportExtensions.DisplayMessage);
                at.ClearExtension(ProtorpcTransportExtensions.DisplayMessage);
            }
        }

        return info;
    }

    /// <summary>Decodes the exception of a peer.</summary>
    public static RpcRemoteException Decode(RpcExceptionInfo info) => Decode(info, MaxInner);

    /// <summary>The status of an exception that came without one, as from the original's servers.</summary>
    public static RpcStatusCode StatusOf(RpcExceptionInfo info) => info.FullTypeName switch
    {
        "System.MissingMethodException" or "System.NotImplementedException" => RpcStatusCode.Unimplemented,
        "System.UnauthorizedAccessException" => RpcStatusCode.PermissionDenied,
        _ => RpcStatusCode.Unknown,
    };

    private static RpcExceptionInfo Encode(Exception error, RpcErrorDetail detail, int depth)
    {
        RpcExceptionInfo info = new();
        if (detail == RpcErrorDetail.None)
        {
            return info;
        }

        Type type = error.GetType();
        info.FullTypeName = type.FullName ?? type.Name;
        info.AssemblyName = AssemblyNameOf(type);
        if (detail == RpcErrorDetail.Message)
        {
            info.Message = error.Message;
        }
        else if (detail == RpcErrorDetail.Full)
        {
            AddEverything(info, error, depth);
        }

        return info;
    }

    private static RpcExceptionInfo Encode(RpcRemoteException remote, RpcErrorDetail detail, int depth)
    {
        RpcExceptionInfo info = new() { Message = remote.Message };
        if (detail == RpcErrorDetail.None || remote.TypeName.Length == 0)
        {
            return info;
        }

        info.FullTypeName = remote.TypeName;
        info.AssemblyName = remote.AssemblyName;
        if (detail != RpcErrorDetail.Full)
        {
            return info;
        }

        info.HasFullDetails = true;
        info.ClassName = remote.TypeName;
        info.HResult = remote.HResult;
        info.HelpUrl = remote.HelpLink;
        info.StackTraceString = remote.StackTrace;
        info.Source = remote.Source;
        foreach ((string name, string value) in remote.Data)
        {
            info.ExceptionData.Add(new RpcExceptionInfo.Types.RpcExceptionData
            {
                Member = name,
                Type = typeof(string).FullName,
                Value = value,
            });
        }

        if (remote.Inner is { } inner && depth > 0)
        {
            info.InnerException = Encode(inner, detail, depth - 1);
        }

        return info;
    }

    // .NET moved types of .NET Framework to other assemblies, and marks each with the one that it came from.
    private static string AssemblyNameOf(Type type) =>
        type.GetCustomAttribute<TypeForwardedFromAttribute>(inherit: false)?.AssemblyFullName
        ?? (type.Assembly == typeof(object).Assembly ? CoreLibrary : type.Assembly.FullName ?? "");

    private static void AddEverything(RpcExceptionInfo info, Exception error, int depth)
    {
        SerializedMembers members = SerializedMembers.From(error);
        info.HasFullDetails = true;
        info.ClassName = info.FullTypeName;
        info.HResult = error.HResult;

        // Without a message the original's clients call the constructor without parameters, whose text is the
        // one of the server. The message member is not the property, which may add to it,
        // as the name of a parameter.
        if (members.Message is { } message)
        {
            info.Message = message;
        }

        if (members.Message != error.Message)
        {
            info.SetExtension(ProtorpcTransportExtensions.DisplayMessage, error.Message);
        }

        if (error.HelpLink is { } help)
        {
            info.HelpUrl = help;
        }

        if (error.StackTrace is { } stack)
        {
            info.StackTraceString = stack;
        }

        if (error.Source is { } source)
        {
            info.Source = source;
        }

        HashSet<string> names = [.. SerializedMembers.OfException];
        foreach ((string name, object? value) in members.Others)
        {
            if (names.Add(name))
            {
                AddData(info, name, value);
            }
        }

        foreach (DictionaryEntry entry in error.Data)
        {
            // Peers make a serialization record of all members, and a name that comes twice spoils it.
            string key = Convert.ToString(entry.Key, CultureInfo.InvariantCulture) ?? "";
            string name = names.Contains(key) ? $"{DataPrefix}{key}]" : key;
            if (names.Add(name))
            {
                AddData(info, name, entry.Value);
            }
        }

        if (error.InnerException is { } inner && depth > 0)
        {
            info.InnerException = Encode(inner, RpcErrorDetail.Full, depth - 1);
        }
    }

    private static void AddData(RpcExceptionInfo info, string member, object? value)
    {
        RpcExceptionInfo.Types.RpcExceptionData data = new() { Member = member };
        if (value is string || value?.GetType().IsPrimitive == true)
        {
            data.Type = value.GetType().FullName;
            data.Value = Convert.ToString(value, CultureInfo.InvariantCulture) ?? "";
        }
        else
        {
            data.Type = typeof(object).FullName;
        }

        info.ExceptionData.Add(data);
    }

    private static RpcRemoteException Decode(RpcExceptionInfo info, int depth)
    {
        Dictionary<string, string> data = new(StringComparer.Ordinal);
        foreach (RpcExceptionInfo.Types.RpcExceptionData entry in info.ExceptionData)
        {
            // Members of every exception, which the original's servers send without their values.
            if (!entry.HasValue && entry.Member is "Data" or "WatsonBuckets")
            {
                continue;
            }

            string name =
                entry.Member.StartsWith(DataPrefix, StringComparison.Ordinal) && entry.Member[^1] == ']'
                ? entry.Member[DataPrefix.Length..^1]
                : entry.Member;
            data.TryAdd(data.ContainsKey(name) ? entry.Member : name, entry.Value);
        }

        string display = info.GetExtension(ProtorpcTransportExtensions.DisplayMessage);

        return new RpcRemoteException(
            info.HasFullTypeName ? info.FullTypeName : "", info.HasAssemblyName ? info.AssemblyName : "",
            display.Length > 0 ? display : info.Message)
        {
            StackTrace = info.StackTraceString,
            HResult = info.HResult,
            Source = info.Source,
            HelpLink = info.HelpUrl,
            Data = data,
            Inner = info.InnerException is { } inner && depth > 0 ? Decode(inner, depth - 1) : null,
        };
    }
}

/// <summary>What an exception serializes: the original's clients make it anew by its serialization
/// constructor, which misses every member that does not come.</summary>
/// <param name="Message">The message member, null where the exception was made without a message.</param>
/// <param name="Others">Names and values of what its type adds, as ParamName.</param>
internal sealed record SerializedMembers(string? Message, IReadOnlyList<KeyValuePair<string, object?>> Others)
{
    /// <summary>The members of Exception itself; those that matter have fields of their own.</summary>
    public static IReadOnlyList<string> OfException { get; } =
    [
        "ClassName", "Message", "Data", "InnerException", "HelpURL", "StackTraceString",
        "RemoteStackTraceString", "RemoteStackIndex", "ExceptionMethod", "HResult", "Source", "WatsonBuckets",
    ];

    /// <summary>The members; of a type that does not serialize, only what all exceptions have.</summary>
    public static SerializedMembers From(Exception error)
    {
        List<KeyValuePair<string, object?>> others = [];
        string? message = null;
        try
        {
            // Obsolete for formatters that make objects of any type;
            // here names and values are read, and nothing is made.
#pragma warning disable SYSLIB0050, SYSLIB0051
            SerializationInfo info = new(error.GetType(), new FormatterConverter());
            error.GetObjectData(info, default);
#pragma warning restore SYSLIB0050, SYSLIB0051
            foreach (SerializationEntry entry in info)
            {
                if (entry.Name == nameof(Exception.Message))
                {
                    message = entry.Value as string;
                }
                else if (!OfException.Contains(entry.Name))
                {
                    // What is declared as an object, as ActualValue, the original sends without its value.
                    bool hasValue = entry.ObjectType == typeof(string) || entry.ObjectType.IsPrimitive;
                    others.Add(new(entry.Name, hasValue ? entry.Value : null));
                }
            }
        }
        catch (Exception)
        {
            return new SerializedMembers(error.Message, []);
        }

        return new SerializedMembers(message, others);
    }
}
