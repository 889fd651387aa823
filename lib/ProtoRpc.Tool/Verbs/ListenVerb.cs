using System.CommandLine;
using Google.Protobuf;

namespace ProtoRpc.Tool.Verbs;

/// <summary><c>protorpc listen</c>: serves a service with canned replies and prints who calls what.</summary>
internal static class ListenVerb
{
    public static Command Create(ToolConsole console)
    {
        Argument<string[]> endpoints = new("ENDPOINT")
        {
            Description = "Where to listen, by any protocol; several are served at once, and port 0 takes a "
                + "free one. A registered name means its endpoint.",
            Arity = ArgumentArity.OneOrMore,
        };
        Option<string?> service = new("--service")
        {
            Description = "The service to serve, where the schema has several.",
            HelpName = "NAME",
        };
        Option<string?> reply = new("--reply")
        {
            Description = "The reply to every call, as JSON text, @FILE, or - for standard input.",
            HelpName = "JSON",
        };
        Option<bool> echo = new("--echo")
        {
            Description = "Replies with the request's fields that the reply has too, by name and type.",
        };
        Option<Guid?> interfaceId = new("--interface-id")
        {
            Description = "The interface id on native endpoints, where it is not the service's own.",
            HelpName = "GUID",
        };
        Command command = new("listen", "Serves a service, prints who calls what, and stops with Ctrl+C.")
        {
            endpoints, service, reply, echo, interfaceId,
        };
        SchemaOptions schemaOptions = new(command);
        ListenOptions listenOptions = new(command);

        command.SetAction(async (parsed, cancellation) =>
        {
            RpcEndpoint[] listening =
            [
                .. parsed.GetRequiredValue(endpoints)
                    .Select(text => ToolTarget.Find(text, console).Endpoint),
            ];
            RpcSchema schema = schemaOptions.Load(parsed);
            using RpcCallRecorder? recorder = listenOptions.OpenRecorder(parsed, console);
            await using RpcServer server = RpcServer.Create(
                schema, parsed.GetValue(service),
                listenOptions.ServerOptions(parsed, listening, recorder, console),
                parsed.GetValue(interfaceId));
            ListenOptions.WarnOfMasks(recorder, server, console);
            RpcServiceInfo served = server.Services[0].Key;
            ICannedReply replies =
                Replies(served, parsed.GetValue(reply), parsed.GetValue(echo), console.Input);
            server.HandleAll(
                (context, request) => Handle(console, replies, context, (DynamicMessage)request));
            Array.ForEach(listening, endpoint => server.AddEndpoint(endpoint));
            await ServingRun.RunAsync(
                server, _ => $"Serving {served.FullName}.", console, cancellation);
            return ExitCode.Success;
        });
        return command;
    }

    private static ICannedReply Replies(RpcServiceInfo service, string? json, bool echo, TextReader input) =>
        (json, echo) switch
        {
            (not null, true) => throw new UsageException("Give --reply or --echo, not both."),
            (not null, false) =>
                new FixedReply(service, JsonText.Read(JsonText.Source(json, input), "--reply")),
            (null, true) => new EchoReply(),
            (null, false) => new FixedReply(service, value: null),
        };

    private static ValueTask<IMessage> Handle(
        ToolConsole console, ICannedReply replies, RpcServerCallContext context, DynamicMessage request)
    {
        string who = context.User.Name is { Length: > 0 } name ? name : "anonymous";
        string from = context.ClientAddress.Length > 0 ? $" from {context.ClientAddress}" : "";
        string text = JsonText.Write(new MessageMapper().ToObject(request), indented: false);
        console.WriteLine($"{who}{from} calls {context.Method.FullName} on {context.Endpoint}: {text}");
        return new ValueTask<IMessage>(replies.To(context.Method, request));
    }
}
