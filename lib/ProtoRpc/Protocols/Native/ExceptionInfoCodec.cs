using System.Collections;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.Serialization;
using ProtoRpc.Protocols.Headers;

namespace ProtoRpc.Protocols.Native;

/// <summary>Encodes a handler's exception as the original's <c>RpcExceptionInfo</c>, and decodes it as data:
/// types that a peer names are never looked up or loaded.</summary>
internal static class ExceptionInfoCodec
{
    // The name of the core library on .NET Framework, whose peers resolve types by it.
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
    /// <param name="text">The text for the caller.</param>
    /// <param name="detail">How much of the exception is sent to the caller.</param>
    public static RpcExceptionInfo Encode(RpcRemoteException remote, string text, RpcErrorDetail detail)
    {
        RpcExceptionInfo info = Encode(remote, detail, MaxInner);
        info.Message = text;
        return info;
    }

    /// <summary>The status of an exception: its own, or Unknown for an exception without a status.</summary>
    public static RpcStatusCode StatusOf(Exception error) => error switch
    {
        RpcException rpc => rpc.Code,
        NotImplementedException or MissingMethodException => RpcStatusCode.Unimplemented,
        OperationCanceledException => RpcStatusCode.Cancelled,
        _ => RpcStatusCode.Unknown,
    };

    /// <summary>Replaces the serialized message by the readable one, for readers that do not create the
    /// exception.</summary>
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

    /// <summary>The status of an exception that was received without one, for example from the original's
    /// servers.</summary>
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

    // .NET moved types of .NET Framework to other assemblies. The attribute names the original one, which
    // .NET Framework peers have.
    private static string AssemblyNameOf(Type type) =>
        type.GetCustomAttribute<TypeForwardedFromAttribute>(inherit: false)?.AssemblyFullName
        ?? (type.Assembly == typeof(object).Assembly ? CoreLibrary : type.Assembly.FullName ?? "");

    private static void AddEverything(RpcExceptionInfo info, Exception error, int depth)
    {
        SerializedMembers members = SerializedMembers.From(error);
        info.HasFullDetails = true;
        info.ClassName = info.FullTypeName;
        info.HResult = error.HResult;

        // If no message is sent, the original's clients call the constructor without parameters. The sent
        // message is the serialized member and not the property, because the property may add to it, such as
        // the name of a parameter.
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
            // Peers create a SerializationInfo of all members, which throws for a duplicate name.
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
            // The original's servers send these members of every exception without a value.
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

/// <summary>The serialized members of an exception. The original's clients create the exception with its
/// serialization constructor, which requires every member.</summary>
/// <param name="Message">The message member; null if the exception was created without a message.</param>
/// <param name="Others">Names and values of the members that its type adds, such as ParamName.</param>
internal sealed record SerializedMembers(string? Message, IReadOnlyList<KeyValuePair<string, object?>> Others)
{
    /// <summary>The members of Exception itself. RpcExceptionInfo has separate fields for the important
    /// ones.</summary>
    public static IReadOnlyList<string> OfException { get; } =
    [
        "ClassName", "Message", "Data", "InnerException", "HelpURL", "StackTraceString",
        "RemoteStackTraceString", "RemoteStackIndex", "ExceptionMethod", "HResult", "Source", "WatsonBuckets",
    ];

    /// <summary>The members of an exception. For a type that does not support serialization, only the
    /// message.</summary>
    public static SerializedMembers From(Exception error)
    {
        List<KeyValuePair<string, object?>> others = [];
        string? message = null;
        try
        {
            // The APIs are obsolete, because formatters can create objects of any type with them. This code
            // only reads names and values.
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
                    // The original sends members of type object, such as ActualValue, without a value.
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
