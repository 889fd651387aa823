using ProtoRpc.Tool.Replies;

namespace ProtoRpc.Tool.Verbs;

/// <summary><c>protorpc mock</c>: serves services for tests. It sends a valid reply to every call, and shows
/// the received calls at the end.</summary>
internal static class MockVerb
{
    public static Command Create(ToolConsole console)
    {
        ToolOption<string[]> replies = new(
            "--reply", "METHOD=JSON",
            "A reply of a method: JSON text or @FILE; an array for a stream. Given again for the same "
            + "method, the next call gets the next one, and the last stays.");
        ToolOption<string[]> failures = new(
            "--fail", "METHOD=STATUS: MESSAGE",
            "Fails the calls of a method, as in 'Search=NOT_FOUND: no such page'.");
        ToolOption<string[]> replays = new(
            "--replay", "FILE", "Answers from a file that --record wrote; may be repeated.");
        replays.RequirePath();
        ToolOption<double> latency = new(
            "--latency", "SECONDS", "Seconds that each call waits before it is answered.")
        {
            CustomParser = SecondsArgument.Parse,
        };
        Command command = new(
            "mock", "Serves services for tests: every call gets a valid reply, or the one that you give.");
        ServedArguments arguments = new(command);
        command.Add(replies);
        command.Add(failures);
        command.Add(replays);
        command.Add(latency);
        ServingOptions servingOptions = new(command);
        SchemaOptions schemaOptions = new(command);
        ListenOptions listenOptions = new(command);

        command.SetAction(async (parsed, cancellation) =>
        {
            RpcEndpoint[] listening = arguments.Endpoints(parsed, console);
            double seconds = parsed.GetValue(latency);
            if (seconds is not (>= 0 and <= int.MaxValue / 1000))
            {
                throw new UsageException($"{latency.Name} must be 0 or more seconds.");
            }

            RpcSchema schema = schemaOptions.Load(parsed, console);
            using RpcCallRecorder? recorder = listenOptions.OpenRecorder(parsed, console);
            RpcServerOptions options = listenOptions.ServerOptions(parsed, listening, recorder, console);
            IReadOnlyList<RpcServiceInfo> served = [];
            options = servingOptions.Apply(parsed, options, () => served, console);
            string[] names = arguments.Services(parsed);
            await using RpcMock mock = RpcMock.Create(schema, names.Length == 0 ? null : names, options);
            served = [.. mock.Server.Services.Select(service => service.Key)];
            ListenOptions.WarnOfMasks(recorder, mock.Server, console);
            mock.Latency = TimeSpan.FromSeconds(seconds);
            SetReplies(
                mock, served, parsed.GetValue(replies) ?? [], parsed.GetValue(failures) ?? [], console);
            mock.ReadReplay(parsed.GetValue(replays) ?? [])();
            Array.ForEach(listening, endpoint => mock.Server.AddEndpoint(endpoint));
            await ServingRun.RunAsync(
                mock.Server,
                _ => $"Serving mocks of {string.Join(", ", served.Select(one => one.FullName))}.",
                console, cancellation);
            foreach (IGrouping<string, RpcRecordedCall> calls in mock.Calls
                .GroupBy(call => call.Method.FullName).OrderBy(calls => calls.Key, StringComparer.Ordinal))
            {
                console.WriteLine($"{calls.Key}: {calls.Count()} calls");
            }

            return ExitCode.Success;
        });
        return command;
    }

    private static void SetReplies(
        RpcMock mock, IReadOnlyList<RpcServiceInfo> served, string[] replies, string[] failures,
        ToolConsole console)
    {
        RpcMethodInfo[] methods = [.. served.SelectMany(service => service.Methods)];
        OrderedDictionary<RpcMethodInfo, List<object>> all = [];
        foreach (string text in replies)
        {
            (RpcMethodInfo method, string json) = Split(methods, "--reply", text);
            IReadOnlyList<object> messages =
                FixedReply.Read(method, JsonArgument.Text(json, console.Input), "--reply");
            Add(method, method.IsServerStreaming ? messages : messages switch
            {
                [{ } only] => only,
                _ => throw new UsageException(
                    $"--reply has {messages.Count} messages, and {method.FullName} sends one. Give --reply "
                    + "again for the reply of the next call."),
            });
        }

        foreach (string text in failures)
        {
            (RpcMethodInfo method, string failure) = Split(methods, "--fail", text);
            Add(method, FailureHandler.Read("--fail", failure));
        }

        foreach ((RpcMethodInfo method, List<object> answers) in all)
        {
            mock.Reply(method.FullName, [.. answers]);
        }

        void Add(RpcMethodInfo method, object answer)
        {
            if (!all.TryGetValue(method, out List<object>? answers))
            {
                all[method] = answers = [];
            }

            answers.Add(answer);
        }
    }

    private static (RpcMethodInfo Method, string Value) Split(
        RpcMethodInfo[] methods, string option, string text)
    {
        MethodValue value = MethodValue.Read(text);
        return value.Method is { } name
            ? (MethodNames.Find(methods, name, option), value.Value)
            : throw new UsageException($"{option} must be METHOD=..., not '{text}'.");
    }
}
