using System.Text.Json;
using System.Text.Json.Nodes;
using ProtoRpc.Formats;

namespace ProtoRpc.Tool.Verbs;

/// <summary><c>protorpc bench</c>: calls a method many times, and prints calls a second and
/// latencies.</summary>
internal static class BenchVerb
{
    private const double DefaultSeconds = 10;
    private const double DefaultWarmUp = 1;

    public static Command Create(ToolConsole console)
    {
        Argument<string> endpoint = new("ENDPOINT")
        {
            Description = "Where the service is, as ncacn_ip_tcp:host[8080] or grpc://host:50051, or a "
                + "registered name.",
        };
        Argument<string> methodName = new("METHOD")
        {
            Description = "The method: Method, Service/Method or package.Service/Method.",
        };
        ToolOption<string[]> further = new(
            "--endpoint", "ENDPOINT",
            "A further endpoint, called in turns with the first one; may be repeated.");
        Command command = new("bench", "Calls a method many times, and prints calls/s and latencies.")
        {
            endpoint, methodName, further,
        };
        BenchOptions benchOptions = new(command);
        BenchRequests requests = new(command);
        SchemaOptions schemaOptions = new(command, required: false);
        CallOptions callOptions = new(command);
        ConnectOptions connectOptions = new(command);

        command.SetAction(async (parsed, cancellation) =>
        {
            ToolTarget[] targets =
            [
                .. (parsed.GetValue(further) ?? []).Prepend(parsed.GetRequiredValue(endpoint))
                    .Select(text => connectOptions.FindTarget(parsed, text, console)),
            ];
            RpcSchema? given = schemaOptions.LoadIfGiven(parsed, console);
            RpcLoadOptions options = benchOptions.ToOptions(parsed, callOptions.Deadline(parsed));
            int connections = benchOptions.Connections(parsed);
            List<RpcClient> clients = [];
            List<RpcLoadTarget> tested = [];
            try
            {
                foreach (ToolTarget target in targets)
                {
                    RpcSchema? schema = given ?? target.LoadSchema(console);
                    string name = target.FullNameOf(parsed.GetRequiredValue(methodName));
                    RpcClientOptions clientOptions = connectOptions.Apply(
                        parsed, target,
                        callOptions.ClientOptions(parsed, schema?.GetMethod(name).Service.FullName), console);
                    RpcLimits limits = clientOptions.Limits;
                    clientOptions = clientOptions with
                    {
                        RetryCount = 0,
                        Limits = limits with
                        {
                            MaxClientConnections = Math.Max(limits.MaxClientConnections, options.Concurrency),
                        },
                    };
                    int first = clients.Count;
                    for (int i = 0; i < connections; i++)
                    {
                        RpcClient client = await ServerSession.ConnectAsync(
                            target.Endpoint, schema, clientOptions, cancellation);
                        clients.Add(client);
                        schema ??= client.Schema
                            ?? await ServerSession.FetchAsync(client, null, cancellation);
                    }

                    RpcMethodInfo method = clients[first].GetMethod(name);
                    tested.Add(new(
                        target.Named?.Name ?? target.Endpoint.ToString(), clients[first..], method,
                        requests.Read(parsed, method, console.Input)));
                }

                IReadOnlyList<RpcLoadResult> results =
                    await new RpcLoadTest(tested, options).RunAsync(cancellation);
                int code = BenchReport.Write(console, results, benchOptions.IsJson(parsed));
                return cancellation.IsCancellationRequested ? ExitCode.Stopped : code;
            }
            finally
            {
                // Disposed in parallel, because Ctrl+C waits for all of them.
                await Task.WhenAll(clients.Select(client => client.DisposeAsync().AsTask()));
            }
        });
        return command;
    }

    /// <summary>Seconds where neither seconds nor calls are given.</summary>
    internal static TimeSpan DefaultDuration => TimeSpan.FromSeconds(DefaultSeconds);

    /// <summary>Seconds of warm-up where calls are not counted exactly.</summary>
    internal static TimeSpan DefaultWarmUpTime => TimeSpan.FromSeconds(DefaultWarmUp);
}

/// <summary>The options of <c>protorpc bench</c> for the load and the output.</summary>
internal sealed class BenchOptions
{
    private readonly ToolOption<double?> _duration = new(
        "--duration", "SECONDS", "Seconds to measure: 10, unless --count is given.")
    {
        CustomParser = SecondsArgument.ParseOptional,
    };

    private readonly ToolOption<long?> _count = new("--count", "CALLS", "Calls to make.", "-n");

    private readonly ToolOption<double?> _warmUp = new(
        "--warmup", "SECONDS", "Seconds to call before the measurement: 1, or 0 with --count.")
    {
        CustomParser = SecondsArgument.ParseOptional,
    };

    private readonly ToolOption<int> _concurrency = new(
        "--concurrency", "CALLERS", "Callers that call at the same time.", "-c")
    {
        DefaultValueFactory = _ => new RpcLoadOptions().Concurrency,
    };

    private readonly ToolOption<int> _connections = new(
        "--connections", "CLIENTS",
        "Clients with connections of their own, over which the callers are spread.")
    {
        DefaultValueFactory = _ => 1,
    };

    private readonly Option<double?> _rate = new("--rate")
    {
        Description =
            "Calls a second, whether or not the server keeps up; latency counts from when a call was due.",
        HelpName = "CALLS",
        CustomParser = NumberArgument.ParseOptional,
    };

    private readonly ToolOption<long?> _maxErrors = new(
        "--max-errors", "CALLS",
        "Calls that may fail before the test ends; by default it ends when the first 100 fail.");

    private readonly ToolFlag _histogram = new(
        "--histogram", "Also prints the distribution of the latencies.");

    private readonly ToolOption<string> _format = new("--format", "text|json", "What is printed.")
    {
        DefaultValueFactory = _ => "text",
    };

    public BenchOptions(Command command)
    {
        _format.AcceptOnlyFromAmong("text", "json");
        foreach (Option option in new Option[]
        {
            _duration, _count, _warmUp, _concurrency, _connections, _rate, _maxErrors, _histogram,
            _format,
        })
        {
            command.Add(option);
        }
    }

    public bool IsJson(ParseResult parsed) => parsed.GetValue(_format) == "json";

    public int Connections(ParseResult parsed)
    {
        if (parsed.GetValue(_concurrency) < 1)
        {
            throw new UsageException("--concurrency must be 1 or more callers.");
        }

        int connections = parsed.GetValue(_connections);
        return connections >= 1 && connections <= parsed.GetValue(_concurrency)
            ? connections
            : throw new UsageException("--connections must be from 1 to the callers of --concurrency.");
    }

    public RpcLoadOptions ToOptions(ParseResult parsed, TimeSpan deadline)
    {
        long? count = parsed.GetValue(_count);
        TimeSpan? duration = Seconds("--duration", parsed.GetValue(_duration));
        return new RpcLoadOptions
        {
            Count = count,
            Duration = duration ?? (count is null ? BenchVerb.DefaultDuration : null),
            WarmUp = Seconds("--warmup", parsed.GetValue(_warmUp))
                ?? (count is null ? BenchVerb.DefaultWarmUpTime : TimeSpan.Zero),
            Concurrency = parsed.GetValue(_concurrency),
            Rate = parsed.GetValue(_rate),
            MaxErrors = parsed.GetValue(_maxErrors),
            Histogram = parsed.GetValue(_histogram),
            CallOptions = new RpcCallOptions { Timeout = deadline },
        };
    }

    private static TimeSpan? Seconds(string option, double? seconds)
    {
        if (seconds is not { } value)
        {
            return null;
        }

        return value >= 0 && value <= RpcLoadOptions.MaxDuration.TotalSeconds
            ? TimeSpan.FromSeconds(value)
            : throw new UsageException(
                $"{option} must be from 0 to {RpcLoadOptions.MaxDuration.TotalSeconds:0} seconds.");
    }
}

/// <summary>The options of <c>protorpc bench</c> for the requests.</summary>
internal sealed class BenchRequests
{
    private const int MaxStreamLength = 100_000;

    private readonly ToolOption<string?> _message = new(
        "--message", "JSON",
        "The request as JSON text, @FILE, or @- for standard input. Several requests, in an array or one "
        + "after the other, are sent in turn; for a stream of requests, an array has the messages of one "
        + "call. In strings, {{n}} is the number of the call, {{uuid}} a new id, and {{now}} the time. The "
        + "default is an empty message.",
        "-m", "-d", "--data");

    private readonly ToolFlag _random = new("--random", "Sends random valid messages.");

    private readonly ToolOption<int> _seed = new(
        "--seed", "NUMBER", "The same seed makes the same random messages.");

    private readonly ToolOption<int> _size = new(
        "--max-size", "BYTES", "The largest random message, in bytes.")
    {
        DefaultValueFactory = _ => new RpcRandomMessageOptions().MaxBytes,
    };

    private readonly ToolOption<int?> _streamLength = new(
        "--stream-length", "MESSAGES",
        "Messages of each stream of requests: 10 random ones, or the one of --message again.");

    // Standard input can only be read once, but all endpoints need it.
    private string? _json;

    public BenchRequests(Command command)
    {
        foreach (Option option in new Option[] { _message, _random, _seed, _size, _streamLength })
        {
            command.Add(option);
        }
    }

    public RpcLoadRequests Read(ParseResult parsed, RpcMethodInfo method, TextReader input)
    {
        string? text = parsed.GetValue(_message);
        int? length = parsed.GetValue(_streamLength);
        if (length is not null && !method.IsClientStreaming)
        {
            throw new UsageException(
                $"--stream-length is for streams of requests; {method.FullName} has none.");
        }

        if (parsed.GetValue(_random))
        {
            if (text is not null)
            {
                throw new UsageException("Give the request with --message or --random, not with both.");
            }

            RpcRandomMessageOptions options = new()
            {
                Seed = parsed.GetValue(_seed),
                MaxBytes = parsed.GetValue(_size),
            };
            return RpcLoadRequests.Random(
                method, length is { } given ? options with { StreamLength = given } : options);
        }

        return text is null
            ? RpcLoadRequests.Same(method, Repeat([new DynamicMessage(method.RequestType)], length))
            : new BenchMessages(method).Read(
                _json ??= JsonArgument.Text(text, input), messages => Repeat(messages, length));
    }

    private static IReadOnlyList<T> Repeat<T>(IReadOnlyList<T> messages, int? length) =>
        length is { } times ? [.. Cycle(messages, times)] : messages;

    private static IEnumerable<T> Cycle<T>(IReadOnlyList<T> messages, int times) =>
        messages.Count is > 0 and var count && times is > 0 and <= MaxStreamLength
            ? Enumerable.Range(0, times).Select(i => messages[i % count])
            : throw new UsageException(
                $"--stream-length must be from 1 to {MaxStreamLength:N0}, and --message must not be an empty "
                + "array.");
}

/// <summary>Reads the requests of <c>--message</c>, whose strings may have placeholders.</summary>
internal sealed class BenchMessages(RpcMethodInfo method)
{
    private const string Where = "--message";
    private static readonly string[] Placeholders = ["n", "uuid", "now"];

    /// <summary>The requests of a load test: a call for each message, or for each array of a
    /// stream.</summary>
    /// <param name="json">The messages.</param>
    /// <param name="repeat">Repeats the messages of a call up to the requested number.</param>
    /// <exception cref="RpcException">InvalidArgument: not a message of the method.</exception>
    /// <exception cref="UsageException">There is no message, or a placeholder is unknown.</exception>
    public RpcLoadRequests Read(
        string json, Func<IReadOnlyList<DynamicMessage>, IReadOnlyList<DynamicMessage>> repeat)
    {
        try
        {
            IReadOnlyList<Template>[] calls =
                [.. CallsOf(json).Select(call => (IReadOnlyList<Template>)
                    [.. call.Select(part => Read(part))])];
            if (calls.Length == 0)
            {
                throw new UsageException($"{Where} has no request. Give one, or leave {Where} out.");
            }

            IReadOnlyList<object> MessagesOf(long number) => repeat(
                [.. calls[(number - 1) % calls.Length].Select(template => Create(template, number))]);

            // Created once before the test, to report invalid messages early.
            IReadOnlyList<object>[] first =
                [.. Enumerable.Range(1, calls.Length).Select(number => MessagesOf(number))];
            return calls.Any(call => call.Any(template => template.Json is not null))
                ? RpcLoadRequests.PerCall(method, MessagesOf)
                : first is [var only] ? RpcLoadRequests.Same(method, only)
                : RpcLoadRequests.InTurn(method, first);
        }
        catch (RpcException e)
        {
            throw e.WithText($"{Where}: {e.Message}");
        }
    }

    private IEnumerable<IReadOnlyList<JsonPart>> CallsOf(string json)
    {
        RpcMessageInfo type = method.RequestType;
        IReadOnlyList<JsonPart> messages = JsonMessages.Split(type, json, isStream: true);
        return !method.IsClientStreaming ? messages.Select(message => (IReadOnlyList<JsonPart>)[message])
            : messages.Count > 1 && !JsonMessages.IsArray(type)
                && messages.All(message => message.Json.Span[0] == '[')
                ? messages.Select(array => JsonMessages.Elements(type, array))
            : [messages];
    }

    private static Template Read(JsonPart part) => new(
        part,
        part.Json.Span.IndexOf("{{"u8) >= 0
            && JsonTemplate.Read(part.Json, Resolve, Where) is { HasPlaceholders: true } json ? json : null);

    private DynamicMessage Create(Template template, long number)
    {
        FormatOptions options = new() { Schema = method.RequestType.Schema };
        return template.Json is { } json
            ? MessageFormats.Json.Read(
                method.RequestType,
                json.Write(new BenchValues(number), RpcLimits.Default.MaxMessageBytes),
                options)
            : MessageFormats.Json.Read(
                method.RequestType, template.Part.Json, options with { Origin = template.Part.Origin });
    }

    private static string[] Resolve(string name) => Placeholders.Contains(name)
        ? [name]
        : throw new UsageException(
            $"{Where} has the placeholder '{{{{{name}}}}}', which is unknown. Use n for the number of the "
            + "call, uuid or now.");

    // A message, and its template if the message contains placeholders.
    private sealed record Template(JsonPart Part, JsonTemplate? Json);
}

/// <summary>The values of a request's placeholders for one call of a load test.</summary>
internal sealed class BenchValues(long number) : TemplateValues
{
    public override JsonElement? Find(string[] path) => path[0] switch
    {
        "n" => ToJson(number),
        "uuid" => ToJson(NewId),
        _ => ToJson(Now),
    };
}

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
