using System.Management.Automation;
using ProtoRpc.Messages;

namespace ProtoRpc.PowerShell;

/// <summary>How an <see cref="RpcException"/> looks as an error record,
/// and the failures of cmdlets themselves.</summary>
internal static class RpcErrors
{
    private static readonly MessageMapper Objects = new(PSObjectModel.Instance);

    /// <param name="exception">The failure.</param>
    /// <param name="target">What it is about, where it is not about a row.</param>
    /// <param name="row">The object of the pipeline that it is about.</param>
    public static ErrorRecord ToRecord(RpcException exception, object? target, PipelineRow? row = null)
    {
        // What the server adds, as objects of the shell.
        exception.Details = exception.Details
            .Select(detail => detail is DynamicMessage message ? Objects.ToObject(message) : detail)
            .ToArray();
        string told = row is null ? "" : $"Row {row.Number}: {exception.Message}";
        if (row is not null && exception is { FieldPath: not null, Endpoint: null })
        {
            // The message could not be made; whoever reads the exception is to see the row, too.
            exception = new(exception.Code, told, exception)
            {
                ErrorId = exception.ErrorId,
                FieldPath = exception.FieldPath,
            };
        }

        ErrorRecord record = new(
            exception, exception.ErrorId, CategoryOf(exception.Code),
            row?.Input ?? target ?? exception.MethodName);
        if (row is not null)
        {
            record.ErrorDetails = new(told);
        }

        return record;
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
