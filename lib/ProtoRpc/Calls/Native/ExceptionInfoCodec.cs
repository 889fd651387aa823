using System.Collections;
using System.Globalization;
using ProtoRpc.Calls.Headers;

namespace ProtoRpc.Calls.Native;

/// <summary>A handler's exception as the original's <c>RpcExceptionInfo</c>, and back as data: no type that
/// the wire names is ever looked up or loaded.</summary>
internal static class ExceptionInfoCodec
{
    // What .NET Framework peers call the library of core types.
    private const string CoreLibrary =
        "mscorlib, Version=4.0.0.0, Culture=neutral, PublicKeyToken=b77a5c561934e089";
    private const int MaxInner = 32;

    /// <summary>Tells of an exception at a level of detail.</summary>
    public static RpcExceptionInfo Encode(Exception error, RpcErrorDetail detail) =>
        Encode(error, detail, MaxInner);

    /// <summary>The status of an exception: its own,
    /// or Unknown for one that knows nothing of statuses.</summary>
    public static RpcStatusCode StatusOf(Exception error) => error switch
    {
        RpcException rpc => rpc.Code,
        NotImplementedException or MissingMethodException => RpcStatusCode.Unimplemented,
        OperationCanceledException => RpcStatusCode.Cancelled,
        _ => RpcStatusCode.Unknown,
    };

    /// <summary>What a peer told.</summary>
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
        info.AssemblyName = type.Assembly == typeof(object).Assembly
            ? CoreLibrary
            : type.Assembly.FullName ?? "";
        if (detail >= RpcErrorDetail.Message)
        {
            info.Message = error.Message;
        }

        if (detail == RpcErrorDetail.Full)
        {
            AddEverything(info, error, depth);
        }

        return info;
    }

    private static void AddEverything(RpcExceptionInfo info, Exception error, int depth)
    {
        info.HasFullDetails = true;
        info.ClassName = info.FullTypeName;
        info.HResult = error.HResult;
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

        foreach (DictionaryEntry entry in error.Data)
        {
            AddData(info, Convert.ToString(entry.Key, CultureInfo.InvariantCulture) ?? "", entry.Value);
        }

        foreach ((string name, object? value) in SerializedMembers.Of(error))
        {
            AddData(info, name, value);
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
            data[entry.Member] = entry.Value;
        }

        return new RpcRemoteException(
            info.HasFullTypeName ? info.FullTypeName : "", info.HasAssemblyName ? info.AssemblyName : "",
            info.Message)
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
