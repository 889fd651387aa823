using System.CommandLine;

namespace ProtoRpc.Tool.Verbs;

/// <summary><c>protorpc call</c>: calls a method of any kind and writes the replies as they come.</summary>
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
            await using ServerSession session =
                await server.BeginAsync(parsed, target, console, cancellation);
            RpcMethodInfo method =
                session.Schema.GetMethod(target.FullNameOf(parsed.GetRequiredValue(methodName)));
            ReplyOutput output = replies.Output(parsed, method, console);
            IAsyncEnumerable<DynamicMessage> messages =
                requests.Read(parsed, method, replies.Format(parsed), console);
            MethodCall call = new(session, method, headers, output, verbose.Report(parsed, console));
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
