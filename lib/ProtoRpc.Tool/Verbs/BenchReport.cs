using System.Text.Json.Nodes;

namespace ProtoRpc.Tool.Verbs;

/// <summary>Writes the results of <c>protorpc bench</c>.</summary>
internal static class BenchReport
{
    /// <summary>Writes the results, and returns the exit code: that of the first failure.</summary>
    /// <exception cref="CallFailedException">The only target could not be measured.</exception>
    public static int Write(ToolConsole console, IReadOnlyList<RpcLoadResult> results, bool asJson)
    {
        if (results is [{ Error: { } error }])
        {
            throw new CallFailedException(error);
        }

        if (asJson)
        {
            JsonNode json = results.Count == 1
                ? ToJson(results[0])
                : new JsonArray([.. results.Select(ToJson)]);
            console.WriteLine(json.ToJsonString(ErrorOutput.Indented));
        }
        else
        {
            console.WriteLine(string.Join("\n\n", results.Select(result => result.Error is { } failed
                ? $"{result.Endpoint} {result.Method}\n  {failed.Code}: {failed.Message}"
                : result.ToText())));
        }

        RpcStatusCode? status = results.Select(result =>
            result.Error?.Code ?? (result.Errors.Count > 0 ? result.Errors[0].Status : null))
            .FirstOrDefault(code => code is not null);
        return status is { } code ? ExitCode.OfCall(code) : ExitCode.Success;
    }

    private static JsonObject ToJson(RpcLoadResult result) => new()
    {
        ["endpoint"] = result.Endpoint,
        ["method"] = result.Method,
        ["concurrency"] = result.Concurrency,
        ["connections"] = result.Connections,
        ["rate"] = result.Rate,
        ["seconds"] = result.Elapsed.TotalSeconds,
        ["calls"] = result.Calls,
        ["succeeded"] = result.Succeeded,
        ["failed"] = result.Failed,
        ["late"] = result.Late,
        ["notSent"] = result.NotSent,
        ["callsPerSecond"] = result.CallsPerSecond,
        ["messagesSent"] = result.MessagesSent,
        ["messagesReceived"] = result.MessagesReceived,
        ["bytesSentPerSecond"] = result.BytesSentPerSecond,
        ["bytesReceivedPerSecond"] = result.BytesReceivedPerSecond,
        ["latencyMilliseconds"] = new JsonObject
        {
            ["min"] = result.Min,
            ["mean"] = result.Mean,
            ["p50"] = result.P50,
            ["p90"] = result.P90,
            ["p99"] = result.P99,
            ["p99.9"] = result.P999,
            ["max"] = result.Max,
        },
        ["histogram"] = new JsonArray([.. result.Histogram.Select(bucket => new JsonObject
        {
            ["from"] = bucket.From.TotalMilliseconds,
            ["to"] = bucket.To.TotalMilliseconds,
            ["count"] = bucket.Count,
        })]),
        ["errors"] = new JsonArray([.. result.Errors.Select(error => new JsonObject
        {
            ["status"] = error.Status.ToString(),
            ["count"] = error.Count,
            ["first"] = error.First.Message,
        })]),
        ["stopped"] = result.Stopped ?? result.Error?.Message,
    };
}
