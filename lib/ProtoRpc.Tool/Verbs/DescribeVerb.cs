using System.CommandLine;

namespace ProtoRpc.Tool.Verbs;

/// <summary><c>protorpc describe</c>: a service, method, message or enum as text like a .proto.</summary>
internal static class DescribeVerb
{
    public static Command Create(ToolConsole console)
    {
        Argument<string[]> names = new("NAME")
        {
            Description = "A service, method, message or enum, by full or bare name; none for whole files.",
        };
        Command command = new("describe", "Describes a service, method, message or enum.") { names };
        SchemaOptions schemaOptions = new(command);

        command.SetAction(parsed =>
        {
            RpcSchema schema = schemaOptions.Load(parsed);
            string[] asked = parsed.GetValue(names) ?? [];
            IEnumerable<string> texts = asked.Length > 0
                ? asked.Select(name => Describe(schema, name))
                : schema.RootFiles.Select(schema.ToProtoText);
            console.WriteLine(string.Join("\n\n", texts.Select(text => text.TrimEnd())));
            return ExitCode.Success;
        });
        return command;
    }

    // What a name may be is tried in turn; where it is nothing,
    // the message of the lookup names the nearest ones.
    private static string Describe(RpcSchema schema, string name)
    {
        if (name.Contains('/'))
        {
            return TextOf(schema.GetMethod(name));
        }

        return Find(() => TextOf(schema.GetService(name)))
            ?? Find(() => TextOf(schema.GetMessage(name)))
            ?? EnumNamed(schema, name)
            ?? Find(() => TextOf(schema.GetMethod(name)))
            ?? throw new RpcException(
                RpcStatusCode.NotFound,
                $"The schema has no service, method, message or enum '{name}'; "
                + "'protorpc describe' without a name shows what it has.");
    }

    private static string? EnumNamed(RpcSchema schema, string name)
    {
        RpcEnumInfo[] found = [.. schema.Enums.Where(e => e.FullName == name)];
        found = found.Length > 0 ? found : [.. schema.Enums.Where(e => e.Name == name)];
        return found.Length == 1 ? TextOf(found[0]) : null;
    }

    private static string TextOf(RpcServiceInfo service) =>
        Headed($"{service.FullName}, interface id {service.InterfaceId}", service.ToProtoText());

    // The method, then what goes each way.
    private static string TextOf(RpcMethodInfo method) => string.Join(
        "\n",
        new[] { method.RequestType, method.ReplyType }.DistinctBy(type => type.FullName).Select(TextOf)
            .Prepend(Headed(method.FullName, method.ToProtoText())));

    private static string TextOf(RpcMessageInfo message) => Headed(message.FullName, message.ToProtoText());

    private static string TextOf(RpcEnumInfo type) =>
        Headed($"{type.FullName}{(type.IsClosed ? ", closed" : "")}", type.ToProtoText());

    // A blank line after the name keeps it from being a part of the element's own comment.
    private static string Headed(string name, string text) => $"// {name}\n\n{text}";

    private static string? Find(Func<string> look)
    {
        try
        {
            return look();
        }
        catch (RpcException e) when (e.Code == RpcStatusCode.NotFound)
        {
            return null;
        }
    }
}
