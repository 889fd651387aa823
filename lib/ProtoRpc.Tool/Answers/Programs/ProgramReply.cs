namespace ProtoRpc.Tool.Answers.Programs;

/// <summary>Reads what programs answer.</summary>
internal static class ProgramReply
{
    // What the tool itself ends with when a call fails: a handler may be a call of the tool.
    private const int ToolStatusBase = 64;
    private const int SignalBase = 128;

    /// <summary>A reply of JSON text; no text is an empty message.</summary>
    /// <exception cref="RpcException">Internal: it is no reply of the method.</exception>
    public static DynamicMessage Read(RpcMethodInfo method, ReadOnlyMemory<byte> json, string program)
    {
        try
        {
            return json.Span.ContainsAnyExcept(" \r\n\t"u8)
                ? MessageFormats.Json.Read(
                    method.ReplyType, json, new FormatOptions { Schema = method.ReplyType.Schema })
                : new DynamicMessage(method.ReplyType);
        }
        catch (RpcException e)
        {
            throw new RpcException(
                RpcStatusCode.Internal,
                $"The handler program {program} wrote no {method.ReplyType.FullName}: {e.Message}", e);
        }
    }

    /// <summary>How a call ends whose program did not end with 0.</summary>
    public static RpcException Failure(int exitCode, string error, string program)
    {
        RpcStatusCode status = exitCode switch
        {
            // Most programs exit with 1 when they crash, which is no cancellation.
            1 => RpcStatusCode.Unknown,
            <= (int)RpcStatusCode.Unauthenticated => (RpcStatusCode)exitCode,
            > ToolStatusBase and <= ToolStatusBase + (int)RpcStatusCode.Unauthenticated =>
                (RpcStatusCode)(exitCode - ToolStatusBase),
            > SignalBase => RpcStatusCode.Internal,
            _ => RpcStatusCode.Unknown,
        };
        string end = exitCode > SignalBase
            ? $"was ended by signal {exitCode - SignalBase}"
            : $"ended with exit code {exitCode}";
        return new RpcException(status, error.Length > 0 ? error : $"The handler program {program} {end}.");
    }
}
