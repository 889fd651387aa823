using System.Management.Automation;

namespace ProtoRpc.PowerShell;

/// <summary>How an <see cref="RpcException"/> looks as an error record, and the failures of cmdlets themselves.</summary>
internal static class RpcErrors
{
    public static ErrorRecord ToRecord(RpcException exception, object? target) => new(
        exception, exception.ErrorId, CategoryOf(exception.Code), target ?? exception.MethodName);

    public static ErrorCategory CategoryOf(RpcStatusCode code) =>
        Enum.Parse<ErrorCategory>(RpcStatusTable.CategoryOf(code));

    public static RpcException NotAFile(string path, string why, Exception? inner = null) =>
        new(RpcStatusCode.NotFound, $"Cannot read '{path}': {why}.", inner) { ErrorId = "FileNotFound" };

    public static RpcException NoSchema(RpcConnection connection) => new(
        RpcStatusCode.FailedPrecondition,
        $"The connection to {connection} has no schema. Give Connect-RpcEndpoint a -Schema.")
    {
        ErrorId = "NoSchema",
    };
}
