using System.CommandLine;

namespace ProtoRpc.Tool.Verbs;

/// <summary><c>protorpc describe</c>: a service, method, message or enum as text like a .proto.</summary>
internal static class DescribeVerb
{
    public static Command Create(ToolConsole console)
    {
        Command command = new("describe", "Describes a service, method, message or enum.");
        Option<bool> template = new("--template", "--msg-template")
        {
            Description = "Writes a JSON message to fill in: of each message that is named, or of the "
                + "request of each method.",
        };
        command.Add(template);
        SymbolArguments arguments = new(command);

        command.SetAction(async (parsed, cancellation) =>
        {
            (RpcSchema schema, string[] names) = await arguments.ReadAsync(parsed, console, cancellation);
            IEnumerable<string> texts = parsed.GetValue(template) ? Templates(schema, names)
                : names.Length > 0 ? names.Select(name => Describe(SchemaSymbols.Find(schema, name)))
                : schema.RootFiles.Select(schema.ToProtoText);
            console.WriteLine(
                TerminalText.Neutralize(string.Join("\n\n", texts.Select(text => text.TrimEnd()))));
            return ExitCode.Success;
        });
        return command;
    }

    private static IEnumerable<string> Templates(RpcSchema schema, string[] names) => names.Length == 0
        ? throw new UsageException("--template needs the name of a message or a method.")
        : names.Select(name => Template(name, SchemaSymbols.Find(schema, name) switch
        {
            RpcMessageInfo message => message,
            RpcMethodInfo method => method.RequestType,
            _ => null,
        }));

    private static string Template(string name, RpcMessageInfo? type) => type is null
        ? throw new UsageException($"--template is for messages and methods, and '{name}' is neither.")
        : RequestTemplate.Of(type);

    private static string Describe(object element) => element switch
    {
        RpcServiceInfo service =>
            Headed($"{service.FullName}, interface id {service.InterfaceId}", service.ToProtoText()),
        RpcMethodInfo method => Describe(method),
        RpcMessageInfo message => Describe(message),
        RpcEnumInfo type =>
            Headed($"{type.FullName}{(type.IsClosed ? ", closed" : "")}", type.ToProtoText()),
        _ => "",
    };

    // The method, then what goes each way.
    private static string Describe(RpcMethodInfo method) => string.Join(
        "\n",
        new[] { method.RequestType, method.ReplyType }.DistinctBy(type => type.FullName).Select(Describe)
            .Prepend(Headed(method.FullName, method.ToProtoText())));

    private static string Describe(RpcMessageInfo message) => Headed(message.FullName, message.ToProtoText());

    // A blank line after the name keeps it from being a part of the element's own comment.
    private static string Headed(string name, string text) => $"// {name}\n\n{text}";
}
