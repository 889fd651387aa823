using Google.Protobuf;

namespace ProtoRpc.Tool;

/// <summary>Writes replies to standard output, each when it comes.</summary>
internal sealed class ReplyOutput(
    ToolConsole console, MessageFormat format, bool isSequence, FormatOptions options)
{
    // As requests are split: MessageSequenceReader.
    private const string Separator = "\u001E\n";

    private bool _hasWritten;

    public void Write(DynamicMessage reply)
    {
        if (!format.IsText)
        {
            WriteBinary(reply);
            return;
        }

        // JSON and text read what is escaped here as the character itself; XML does not.
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
