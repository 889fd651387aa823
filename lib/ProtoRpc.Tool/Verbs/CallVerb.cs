using System.Runtime.CompilerServices;
using ProtoRpc.Formats;
using ProtoRpc.Messages;

namespace ProtoRpc.Tool.Verbs;

/// <summary><c>protorpc call</c>: calls a method and writes the replies as they arrive.</summary>
internal static class CallVerb
{
    public static Command Create(ToolConsole console)
    {
        Argument<string> endpoint = new("ENDPOINT")
        {
            Description = "Where the service is, as grpc://host:50051 or ncacn_ip_tcp:host[8080]; HOST:PORT "
                + "for gRPC with TLS; or a registered name.",
        };
        Argument<string> methodName = new("METHOD")
        {
            Description = "The method: Method, Service/Method or package.Service/Method.",
        };
        Command command = new("call", "Calls a method and writes the replies as they come.")
        {
            endpoint, methodName,
        };
        command.Aliases.Add("invoke");
        RequestOptions requests = new(command);
        ReplyOptions replies = new(command);
        ServerOptions server = new(command);
        VerboseOptions verbose = new(command);

        command.SetAction(async (parsed, cancellation) =>
        {
            ToolTarget target =
                server.Connecting.FindTarget(parsed, parsed.GetRequiredValue(endpoint), console);
            RpcMetadata headers = server.Connecting.Headers.OfCall(parsed, console);
            string name = target.FullNameOf(parsed.GetRequiredValue(methodName));
            await using ServerSession session =
                await server.BeginAsync(parsed, target, [name], console, cancellation);
            RpcMethodInfo method = session.Schema.GetMethod(name);
            bool all = requests.All(parsed);
            ReplyOutput output = replies.Output(parsed, method, console, all);
            IAsyncEnumerable<DynamicMessage> messages =
                requests.Read(parsed, method, replies.Format(parsed), console);
            if (requests.AsCommand(parsed))
            {
                if (replies.Format(parsed) != MessageFormats.Json)
                {
                    throw new UsageException(
                        "--as-command writes the requests as JSON. Leave out --format.");
                }

                console.WriteLine(RepeatableCall.Write(
                    parsed, await messages.ToListAsync(cancellation), requests.Options));
                return ExitCode.Success;
            }

            MethodCall call = new(
                session, method, headers, output, verbose.Report(parsed, console), all, console);
            try
            {
                await call.RunAsync(messages, cancellation);
                return ExitCode.Success;
            }
            catch (CallFailedException e) when (replies.FormatsErrors(parsed))
            {
                ErrorOutput.WriteStatus(console, e);
                return ExitCode.OfCall(e.Code);
            }
        });
        return command;
    }
}

/// <summary>The options for the requests and their format.</summary>
internal sealed class RequestOptions
{
    private const string StandardInput = "standard input";

    private readonly ToolOption<string?> _data = new(
        "--data", "JSON",
        "The request as JSON, @FILE, or @- for standard input; several JSON values one after the other "
        + "are the messages of a stream. The ending of a file says its format: .json, .txtpb, .xml, "
        + ".binpb. The default is an empty message, or no message of a stream of requests.",
        "-d", "--message", "-m");

    private readonly Option<string[]> _set = new("--set")
    {
        Description =
            "One field: name=value, or outer.inner=value; the same name again for a repeated field. Bytes "
            + "are utf8:TEXT or base64:DATA. Not together with --data.",
        HelpName = "FIELD=VALUE",
    };

    private readonly ToolFlag _allowUnknown = new(
        "--allow-unknown-fields", "Ignores fields of requests that the message type does not have.");

    private readonly ToolFlag _asCommand = new(
        "--as-command",
        "Prints the command that repeats the call, with its requests as JSON and without secrets, and does "
        + "not call.");

    private readonly ToolFlag _all = new(
        "--all",
        "Follows the pages of a list (page_token, next_page_token) to the end, and writes its elements "
        + "instead of the pages. --max-time is for all pages together.");

    public RequestOptions(Command command)
    {
        command.Add(_all);
        command.Add(_data);
        command.Add(_set);
        command.Add(_allowUnknown);
        command.Add(_asCommand);
    }

    /// <summary>The options for the contents of requests.</summary>
    public IReadOnlyCollection<Option> Options => [_data, _set, _allowUnknown, _asCommand];

    /// <summary>Whether the pages of a list are followed to the end.</summary>
    public bool All(ParseResult parsed) => parsed.GetValue(_all);

    /// <summary>Whether the command is printed, and not run.</summary>
    public bool AsCommand(ParseResult parsed) => parsed.GetValue(_asCommand);

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
            return ReadAsync(Source.Create(data, format, console), method, options);
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
            // A read from the console or a pipe cannot be cancelled, so it is abandoned.
            return await Task.Run(() => reader.ReadAsync(cancellation).AsTask(), cancellation)
                .WaitAsync(cancellation);
        }
        catch (RpcException e)
        {
            throw e.WithText($"{name}: {e.Message}");
        }
    }

    /// <summary>A source of requests.</summary>
    /// <param name="Name">The name in errors.</param>
    /// <param name="Format">Their format.</param>
    /// <param name="Open">Opens it.</param>
    private sealed record Source(string Name, MessageFormat Format, Func<Stream> Open)
    {
        public static Source Create(string data, MessageFormat format, ToolConsole console)
        {
            if (data is "-" or "@" or "@-")
            {
                return new(StandardInput, format, console.OpenInput);
            }

            if (data is ['@', .. string path])
            {
                return new(
                    path, MessageFormats.TryFindByFile(path, out MessageFormat? ofFile) ? ofFile : format,
                    () => JsonArgument.ReadFile(path, File.OpenRead));
            }

            return format.IsText
                ? new("--data", format, () => new MemoryStream(System.Text.Encoding.UTF8.GetBytes(data)))
                : throw new UsageException(
                    $"Binary requests are read from a file or standard input: --data @FILE or --data @-, not "
                    + "from the command line.");
        }
    }
}

/// <summary>The options that say how replies are written.</summary>
internal sealed class ReplyOptions
{
    private readonly ToolOption<string> _format = new(
        "--format", "json|text|binary|xml",
        "The format of requests and replies. Requests of a file have the format of its ending.")
    {
        DefaultValueFactory = _ => "json",
    };

    private readonly ToolFlag _compact = new("--compact", "Writes each reply in one line, in JSON and XML.");

    private readonly ToolFlag _emitDefaults = new(
        "--emit-defaults", "Also writes fields that have their default value, in JSON and XML.");

    private readonly ToolOption<string?> _field = new(
        "--field", "FIELD",
        "Writes only this field of each reply, or outer.inner: bytes as they are, as for > FILE, and other "
        + "values as text.");

    private readonly ToolFlag _formatError = new(
        "--format-error", "Writes a failure as a google.rpc.Status in JSON, to standard error.");

    public ReplyOptions(Command command)
    {
        _format.AcceptOnlyFromAmong("json", "text", "binary", "xml");
        command.Add(_format);
        command.Add(_compact);
        command.Add(_emitDefaults);
        command.Add(_field);
        command.Add(_formatError);
    }

    public MessageFormat Format(ParseResult parsed) =>
        MessageFormats.TryFind(parsed.GetRequiredValue(_format), out MessageFormat? format)
            ? format
            : MessageFormats.Json;

    /// <summary>Whether failures are written as JSON.</summary>
    public bool FormatsErrors(ParseResult parsed) => parsed.GetValue(_formatError);

    /// <summary>Creates the output for the replies of a method.</summary>
    /// <param name="parsed">The command line.</param>
    /// <param name="method">The method.</param>
    /// <param name="console">The console.</param>
    /// <param name="all">Whether to write the elements of a list in pages.</param>
    /// <exception cref="UsageException">Binary replies would go to a terminal.</exception>
    /// <exception cref="RpcException">InvalidArgument: the method returns no list in pages.</exception>
    public ReplyOutput Output(
        ParseResult parsed, RpcMethodInfo method, ToolConsole console, bool all = false)
    {
        MessageFormat format = Format(parsed);
        RpcFieldInfo? list = all ? PagedMethod.Create(method).Elements : null;
        ReplyField? field = parsed.GetValue(_field) is not { } path ? list is { MessageType: null } values
                // Elements that are not messages have no format.
                ? ReplyField.Find(method.ReplyType, values.Name)
                : null
            : list is null ? ReplyField.Find(method.ReplyType, path)
            : list.MessageType is { } element ? ReplyField.Find(element, path)
            : throw new UsageException($"--field {path}: the elements of {list.Name} have no fields.");
        bool isBinary = field?.IsBytes ?? !format.IsText;
        if (isBinary && console.IsOutputTerminal)
        {
            throw new UsageException(
                "Binary replies would change how the terminal works. Redirect them to a file with > FILE, or "
                + (field is null ? "give another --format." : "leave --field out."));
        }

        return new ReplyOutput(console, format, method.IsServerStreaming || all, new FormatOptions
        {
            Schema = method.ReplyType.Schema,
            Indented = !parsed.GetValue(_compact),
            IncludeDefaults = parsed.GetValue(_emitDefaults),
        }, field);
    }
}

/// <summary>The options that set how much is written about a call.</summary>
internal sealed class VerboseOptions
{
    private readonly ToolFlag _verbose = new(
        "--verbose", "Also writes the method, headers, trailers and retries, to standard error.", "-v");

    private readonly ToolFlag _more = new(
        "--very-verbose", "Also writes sizes and times, to standard error.", "-vv");

    public VerboseOptions(Command command)
    {
        command.Add(_verbose);
        command.Add(_more);
    }

    public CallReport Report(ParseResult parsed, ToolConsole console)
    {
        bool isMore = parsed.GetValue(_more);
        return new CallReport(console, isMore || parsed.GetValue(_verbose), isMore);
    }
}
