using System.Management.Automation;
using ProtoRpc.Messages;

namespace ProtoRpc.PowerShell;

/// <summary>How an <see cref="RpcException"/> looks as an error record,
/// and the failures of cmdlets themselves.</summary>
internal static class RpcErrors
{
    private static readonly MessageMapper Objects = new(PSObjectModel.Instance);

    public static ErrorRecord ToRecord(RpcException exception, object? target)
    {
        // What the server adds, as objects of the shell.
        exception.Details = exception.Details
            .Select(detail => detail is DynamicMessage message ? Objects.ToObject(message) : detail)
            .ToArray();
        return new(exception, exception.ErrorId, CategoryOf(exception.Code), target ?? exception.MethodName);
    }

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
