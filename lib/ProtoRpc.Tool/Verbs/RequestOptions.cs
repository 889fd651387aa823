using System.CommandLine;
using System.Runtime.CompilerServices;
using ProtoRpc.Formats.Sequences;

namespace ProtoRpc.Tool.Verbs;

/// <summary>The options that say what is sent, and in which format.</summary>
internal sealed class RequestOptions
{
    private const string StandardInput = "standard input";

    private readonly Option<string?> _data = new("--data", "-d", "--message", "-m")
    {
        Description = "The request as JSON, @FILE, or @- for standard input; several JSON values one after "
            + "the other are the messages of a stream. The ending of a file says its format: .json, .txtpb, "
            + ".xml, .binpb. The default is an empty message, or no message of a stream of requests.",
        HelpName = "JSON",
    };

    private readonly Option<string[]> _set = new("--set")
    {
        Description =
            "One field: name=value, or outer.inner=value; the same name again for a repeated field. Bytes "
            + "are utf8:TEXT or base64:DATA.",
        HelpName = "FIELD=VALUE",
    };

    private readonly Option<bool> _allowUnknown = new("--allow-unknown-fields")
    {
        Description = "Ignores fields of requests that the message type does not have.",
    };

    public RequestOptions(Command command)
    {
        command.Add(_data);
        command.Add(_set);
        command.Add(_allowUnknown);
    }

    /// <summary>The messages, each as soon as it was read.</summary>
    /// <exception cref="UsageException">The options exclude each other.</exception>
    public IAsyncEnumerable<DynamicMessage> Read(
        ParseResult parsed, RpcMethodInfo method, MessageFormat format, ToolConsole console)
    {
        string? data = parsed.GetValue(_data);
        string[] assignments = parsed.GetValue(_set) ?? [];
        if (data is not null && assignments.Length > 0)
        {
            throw new UsageException("Give the request with --set or with --data, not with both.");
        }

        if (data is not null)
        {
            FormatOptions options = new()
            {
                Schema = method.RequestType.Schema,
                IgnoreUnknownFields = parsed.GetValue(_allowUnknown),
            };
            return ReadAsync(Source.Of(data, format, console), method, options);
        }

        bool isEmpty = assignments.Length == 0;
        return isEmpty && method.IsClientStreaming
            ? AsyncEnumerable.Empty<DynamicMessage>()
            : One(isEmpty
                ? new DynamicMessage(method.RequestType)
                : new MessageMapper().ToMessage(
                    method.RequestType, FieldAssignments.Read(method.RequestType, assignments)));
    }

    private static IAsyncEnumerable<DynamicMessage> One(DynamicMessage message) =>
        new[] { message }.ToAsyncEnumerable();

    private static async IAsyncEnumerable<DynamicMessage> ReadAsync(
        Source source, RpcMethodInfo method, FormatOptions options,
        [EnumeratorCancellation] CancellationToken cancellation = default)
    {
        await using Stream stream = source.Open();
        MessageSequenceReader reader =
            new(stream, source.Format, method.RequestType, options, method.IsClientStreaming);
        while (await NextAsync(reader, source.Name, cancellation) is { } message)
        {
            yield return message;
        }
    }

    private static async Task<DynamicMessage?> NextAsync(
        MessageSequenceReader reader, string name, CancellationToken cancellation)
    {
        try
        {
            // A read of the console or of a pipe cannot be cancelled: it is left behind.
            return await Task.Run(() => reader.ReadAsync(cancellation).AsTask(), cancellation)
                .WaitAsync(cancellation);
        }
        catch (RpcException e)
        {
            throw e.WithText($"{name}: {e.Message}");
        }
    }

    /// <summary>Where requests are read.</summary>
    /// <param name="Name">What errors call it.</param>
    /// <param name="Format">Their format.</param>
    /// <param name="Open">Opens it.</param>
    private sealed record Source(string Name, MessageFormat Format, Func<Stream> Open)
    {
        public static Source Of(string data, MessageFormat format, ToolConsole console)
        {
            if (data is "-" or "@" or "@-")
            {
                return new(StandardInput, format, console.OpenInput);
            }

            if (data is ['@', .. string path])
            {
                return new(
                    path, MessageFormats.TryFindByFile(path, out MessageFormat? ofFile) ? ofFile : format,
                    () => File.OpenRead(path));
            }

            return format.IsText
                ? new("--data", format, () => new MemoryStream(System.Text.Encoding.UTF8.GetBytes(data)))
                : throw new UsageException(
                    $"Binary requests are read from a file or standard input: --data @FILE or --data @-, not "
                    + "from the command line.");
        }
    }
}
