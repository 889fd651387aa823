using System.CommandLine;
using Google.Protobuf.Reflection;
using ProtoRpc.Schema;

namespace ProtoRpc.Tool.Verbs;

/// <summary><c>protorpc describe</c>: a service, method, message or enum as text like a .proto.</summary>
internal static class DescribeVerb
{
    public static Command Create(ToolConsole console)
    {
        Argument<string[]> names = new("NAME")
        {
            Description = "A service, method, message or enum, by full or bare name; none for all services and messages.",
        };
        Command command = new("describe", "Describes a service, method, message or enum.") { names };
        SchemaOptions schemaOptions = new(command);

        command.SetAction(parsed =>
        {
            RpcSchema schema = schemaOptions.Load(parsed);
            string[] asked = parsed.GetValue(names) ?? [];
            IEnumerable<string> texts = asked.Length > 0
                ? asked.Select(name => Describe(schema, name))
                : RootElements(schema);
            console.WriteLine(string.Join("\n\n", texts));
            return ExitCode.Success;
        });
        return command;
    }

    // What the imports declare is left out.
    private static IEnumerable<string> RootElements(RpcSchema schema)
    {
        FileDescriptor[] files = [.. schema.Files.Where(file => schema.RootFiles.Contains(file.Name))];
        MessageDescriptor[] messages = [.. files.SelectMany(file => file.MessageTypes).SelectMany(WithNested)];
        HashSet<string> declared =
        [
            .. messages.Select(message => message.FullName),
            .. messages.SelectMany(message => message.EnumTypes).Select(type => type.FullName),
            .. files.SelectMany(file => file.EnumTypes).Select(type => type.FullName),
            .. files.SelectMany(file => file.Services).Select(service => service.FullName),
        ];
        return schema.Services.Where(service => declared.Contains(service.FullName)).Select(ProtoText.Of)
            .Concat(schema.Messages.Where(message => declared.Contains(message.FullName)).Select(ProtoText.Of))
            .Concat(schema.Enums.Where(type => declared.Contains(type.FullName)).Select(ProtoText.Of));
    }

    private static IEnumerable<MessageDescriptor> WithNested(MessageDescriptor message) =>
        message.NestedTypes.SelectMany(WithNested).Prepend(message);

    // What a name may be is tried in turn; where it is nothing, the message of the lookup names the nearest ones.
    private static string Describe(RpcSchema schema, string name)
    {
        if (name.Contains('/'))
        {
            return ProtoText.Of(schema.GetMethod(name));
        }

        return Find(() => ProtoText.Of(schema.GetService(name)))
            ?? Find(() => ProtoText.Of(schema.GetMessage(name)))
            ?? EnumNamed(schema, name)
            ?? Find(() => ProtoText.Of(schema.GetMethod(name)))
            ?? throw new RpcException(
                RpcStatusCode.NotFound,
                $"The schema has no service, method, message or enum '{name}'; "
                + "'protorpc describe' without a name shows what it has.");
    }

    private static string? EnumNamed(RpcSchema schema, string name)
    {
        RpcEnumInfo[] found = [.. schema.Enums.Where(e => e.FullName == name)];
        found = found.Length > 0 ? found : [.. schema.Enums.Where(e => e.Name == name)];
        return found.Length == 1 ? ProtoText.Of(found[0]) : null;
    }

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
