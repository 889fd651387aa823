using System.CommandLine;

namespace ProtoRpc.Tool.Verbs;

/// <summary><c>protorpc invoke</c>: calls a method and prints the reply.</summary>
internal static class InvokeVerb
{
    public static Command Create(ToolConsole console)
    {
        Argument<string> endpoint = new("ENDPOINT")
        {
            Description = "Where the service is, as ncacn_ip_tcp:host[8080] or tcp://host:8080, or a "
                + "registered name.",
        };
        Argument<string> methodName = new("METHOD")
        {
            Description = "The method: Method, Service/Method or package.Service/Method.",
        };
        Option<string[]> set = new("--set")
        {
            Description =
                "One field: name=value, or outer.inner=value; the same name again for a repeated field.",
            HelpName = "FIELD=VALUE",
        };
        Option<string?> json = new("--message", "-m")
        {
            Description =
                "The request as JSON text, @FILE, or - for standard input. The ending of a file's name says "
                + "its format: .json, .xml, .txtpb, .binpb.",
            HelpName = "JSON",
        };
        Command command = new("invoke", "Calls a method and prints the reply as JSON.")
        {
            endpoint, methodName, set, json,
        };
        SchemaOptions schemaOptions = new(command, required: false);
        CallOptions callOptions = new(command);
        ConnectOptions connectOptions = new(command);

        command.SetAction((parsed, cancellation) =>
        {
            ToolTarget target = ToolTarget.Find(parsed.GetRequiredValue(endpoint), console);
            RpcSchema schema = schemaOptions.LoadIfGiven(parsed) ?? target.LoadSchema()
                ?? throw new UsageException("Give a schema with --schema SOURCE.");
            RpcMethodInfo method = schema.GetMethod(target.FullNameOf(parsed.GetRequiredValue(methodName)));
            MessageMapper mapper = new();
            string? text = parsed.GetValue(json);
            string[] assignments = parsed.GetValue(set) ?? [];
            DynamicMessage message = (assignments.Length == 0 ? FromFile(method.RequestType, text) : null)
                ?? mapper.ToMessage(
                    method.RequestType, Request(method.RequestType, text, assignments, console.Input));

            RpcClientOptions options = connectOptions.Apply(
                parsed, target, callOptions.ClientOptions(parsed, method.Service.FullName), console);
            DynamicMessage reply = CallFailedException.Guard(() =>
            {
                using RpcClient client = RpcClient.Connect(target.Endpoint, schema, options, cancellation);
                return client.Invoke(
                    method, message, new() { Timeout = callOptions.Deadline(parsed) }, cancellation);
            });
            console.WriteLine(JsonText.Write(mapper.ToObject(reply)));
            return Task.FromResult(ExitCode.Success);
        });
        return command;
    }

    // JSON is read as an object like any other, which takes more than ProtoJSON does.
    private static DynamicMessage? FromFile(RpcMessageInfo type, string? source) =>
        source is ['@', .. string path]
        && MessageFormats.TryFindByFile(path, out MessageFormat? format) && format != MessageFormats.Json
            ? format.Read(type, File.ReadAllBytes(path), new FormatOptions { Schema = type.Schema })
            : null;

    private static object? Request(RpcMessageInfo type, string? json, string[] assignments, TextReader input)
    {
        if (json is not null && assignments.Length > 0)
        {
            throw new UsageException("Give the request with --set or with --message, not with both.");
        }

        return json is null
            ? FieldAssignments.Read(type, assignments)
            : JsonText.Read(JsonText.Source(json, input), "--message");
    }
}
