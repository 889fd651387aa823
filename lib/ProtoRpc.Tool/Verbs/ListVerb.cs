using System.CommandLine;

namespace ProtoRpc.Tool.Verbs;

/// <summary><c>protorpc list</c>: the services of a schema, with their methods.</summary>
internal static class ListVerb
{
    public static Command Create(ToolConsole console)
    {
        Command command = new("list", "Lists the services and methods of .proto files or descriptor sets.");
        SchemaOptions schema = new(command);

        command.SetAction(parsed =>
        {
            IReadOnlyList<RpcServiceInfo> services = schema.Load(parsed).Services;
            if (services.Count == 0)
            {
                console.WriteLine("(no services)");
            }

            foreach (RpcServiceInfo service in services)
            {
                console.WriteLine(service.FullName);
                foreach (RpcMethodInfo method in service.Methods)
                {
                    console.WriteLine($"  rpc {method.Signature};");
                }
            }

            return ExitCode.Success;
        });
        return command;
    }
}
