using System.Management.Automation;
using ProtoRpc.PowerShell.Objects;

namespace ProtoRpc.PowerShell.Cmdlets;

/// <summary>How an <see cref="RpcException"/> looks as an error record,
/// and the failures of cmdlets themselves.</summary>
internal static class RpcErrors
{
    private static readonly MessageMapper Objects = new(NeutralObjectModel.Instance);

    /// <param name="exception">The failure.</param>
    /// <param name="target">What it is about, where it is not about a row.</param>
    /// <param name="row">The object of the pipeline that it is about.</param>
    public static ErrorRecord ToRecord(RpcException exception, object? target, PipelineRow? row = null)
    {
        // What the server adds, as objects of the shell.
        exception.Details = exception.Details
            .Select(detail => detail is DynamicMessage message ? Objects.ToObject(message) : detail)
            .ToArray();
        if (exception.Extensions is DynamicMessage extensions)
        {
            exception.Extensions = HeaderExtensionMap.ToDictionary(extensions);
        }

        // What a server answered is its text, and is not reworded.
        string text = exception.Endpoint is null ? exception.Message : TextOf(exception);
        string worded = exception.IsAnswer ? text : ParameterWording.Of(text);
        string shown = row is null ? worded : $"Row {row.Number}: {worded}";
        if (row is not null && exception is { FieldPath: not null, Endpoint: null })
        {
            // The message could not be made: the text of the exception names the row also.
            exception = new(exception.Code, shown, exception)
            {
                ErrorId = exception.ErrorId,
                FieldPath = exception.FieldPath,
            };
        }

        ErrorRecord record = new(
            exception, exception.ErrorId, CategoryOf(exception.Code),
            row?.Input ?? target ?? exception.MethodName);
        if (row is not null || exception.Endpoint is not null || worded != text)
        {
            record.ErrorDetails = new(shown);
        }

        return record;
    }

    /// <summary>What the shell shows of a failure at an endpoint: status, text, method and endpoint. The text
    /// alone, which scripts find in the exception's message, is that of the handler on
    /// every endpoint.</summary>
    public static string TextOf(RpcException error)
    {
        string where = string.Join(" at ", PlacesOf(error));
        string text = $"{error.Code}: {error.Message}";

        // A name of a method or an endpoint may come from a peer, and a terminal would do what it says.
        return TerminalText.Neutralize(where.Length > 0 ? $"{text} ({where})" : text);
    }

    public static ErrorCategory CategoryOf(RpcStatusCode code) =>
        Enum.Parse<ErrorCategory>(RpcStatusTable.CategoryOf(code));

    public static RpcException NotAFile(string path, string why, Exception? inner = null) =>
        new(RpcStatusCode.NotFound, $"Cannot read '{path}': {why}.", inner)
        { ErrorId = RpcErrorIds.FileNotFound };

    public static RpcException NoSchema(RpcConnection connection) => new(
        RpcStatusCode.FailedPrecondition,
        $"The connection to {connection} has no schema. Give Connect-RpcEndpoint a -Schema.")
    {
        ErrorId = RpcErrorIds.NoSchema,
    };

    // Those that the text does not name by itself.
    private static IEnumerable<string> PlacesOf(RpcException error)
    {
        if (error.MethodName is { } method && !error.Message.Contains(method, StringComparison.Ordinal))
        {
            yield return method[(method.LastIndexOf('/') + 1)..];
        }

        if (error.Endpoint is { } endpoint
            && !error.Message.Contains(endpoint.ToString(), StringComparison.OrdinalIgnoreCase)
            && !error.Message.Contains(endpoint.Uri, StringComparison.OrdinalIgnoreCase))
        {
            yield return endpoint.ToString();
        }
    }
}
