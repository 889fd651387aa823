using System.Diagnostics;
using System.Globalization;
using ProtoRpc.Protocols.Http;
using ProtoRpc.Tool.Verbs;

namespace ProtoRpc.Tool;

/// <summary>Writes replies to standard output, each when it arrives.</summary>
internal sealed class ReplyOutput(
    ToolConsole console, MessageFormat format, bool isSequence, FormatOptions options,
    ReplyField? field = null)
{
    // The same separator as MessageSequenceReader uses for requests.
    private const string Separator = "\u001E\n";

    private bool _hasWritten;

    public void Write(DynamicMessage reply)
    {
        if (field is not null)
        {
            field.Write(console, reply);
            return;
        }

        if (!format.IsText)
        {
            WriteBinary(reply);
            return;
        }

        // Neutralize writes control characters as escapes, which JSON and the text format read as the
        // characters. XML does not.
        string text = format.ToText(reply, options).TrimEnd('\n');
        if (format != MessageFormats.Xml || console.IsOutputTerminal)
        {
            text = TerminalText.Neutralize(text);
        }

        string separator = format == MessageFormats.Json || !_hasWritten ? ""
            : console.IsOutputTerminal ? "\n"
            : Separator;
        _hasWritten = true;
        console.WriteLine(separator + text);
    }

    private void WriteBinary(DynamicMessage reply)
    {
        Stream output = console.OutputStream;
        byte[] bytes = format.ToArray(reply, options);
        ToolConsole.Guard(() =>
        {
            if (isSequence)
            {
                using CodedOutputStream length = new(output, leaveOpen: true);
                length.WriteLength(bytes.Length);
            }

            output.Write(bytes);
            output.Flush();
        });
    }
}

/// <summary>Reports a call on standard error: <c>&gt;</c> is sent, <c>&lt;</c> is received.</summary>
internal sealed class CallReport(ToolConsole console, bool isShown, bool hasSizes)
{
    private const int MaxValueLength = 4000;

    private long _start;
    private TimeSpan? _first;
    private int _sent;
    private int _received;
    private bool _hasHeaders;

    public void Begin(ServerSession session, RpcMethodInfo method, RpcMetadata headers)
    {
        _start = Stopwatch.GetTimestamp();
        Write($"> rpc {method.FullName} at {session.Endpoint}");
        Write(">", session.Headers.Concat(headers));
    }

    public void Sent() => Interlocked.Increment(ref _sent);

    public void Received(RpcReplyInfo response)
    {
        _first ??= Stopwatch.GetElapsedTime(_start);
        _received++;
        WriteHeaders(response);
    }

    public void End(ServerSession session, RpcReplyInfo response)
    {
        WriteHeaders(response);
        Write("< trailer", response.Trailers);
        if (!hasSizes)
        {
            return;
        }

        Write($"= sent {Counted(_sent, "message")}, {Counted(response.BytesSent, "byte")}; received "
            + $"{Counted(_received, "message")}, {Counted(response.BytesReceived, "byte")}");
        string first = _first is { } time ? $", first reply after {Milliseconds(time)}" : "";
        Write($"= schema {Milliseconds(session.SchemaTime)}, connect {Milliseconds(session.ConnectTime)}"
            + $"{first}, call {Milliseconds(Stopwatch.GetElapsedTime(_start))}");
    }

    private static string Counted(long number, string what) =>
        string.Create(CultureInfo.InvariantCulture, $"{number} {what}{(number == 1 ? "" : "s")}");

    private void WriteHeaders(RpcReplyInfo response)
    {
        if (!_hasHeaders)
        {
            _hasHeaders = true;
            Write("< header", response.Headers);
        }
    }

    private void Write(string mark, IEnumerable<KeyValuePair<string, object>> headers)
    {
        foreach ((string name, object value) in headers)
        {
            string text = HeaderTrace.IsSecret(name) ? "(not shown)"
                : value is byte[] bytes ? Convert.ToBase64String(bytes)
                : (string)value;
            Write($"{mark} {name}: {text}");
        }
    }

    // Names and values may come from a server, so control characters are escaped.
    private void Write(string line)
    {
        if (isShown)
        {
            console.WriteErrorLine(TerminalText.OneLine(line, MaxValueLength));
        }
    }

    private static string Milliseconds(TimeSpan time) =>
        time.TotalMilliseconds.ToString("0.0", CultureInfo.InvariantCulture) + " ms";
}
