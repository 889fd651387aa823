using System.CommandLine;

namespace ProtoRpc.Tool.Verbs;

/// <summary><c>protorpc list</c>: the services of a server or a schema, with their methods.</summary>
internal static class ListVerb
{
    public static Command Create(ToolConsole console)
    {
        Command command = new("list", "Lists the services and methods of a server or a schema.");
        SymbolArguments arguments = new(command);
        Option<bool> names = new("--names")
        {
            Description = "Writes full names alone, one a line: of services, or of the methods of those that "
                + "are named.",
        };
        command.Add(names);

        command.SetAction(async (parsed, cancellation) =>
        {
            (ToolTarget? target, string[] symbols) = arguments.Split(parsed, console);
            IEnumerable<string> lines =
                target is not null && IsSilent(target.Endpoint) && !HasSchema(arguments, parsed, target)
                ? await PingAsync(arguments, parsed, target, symbols, console, cancellation)
                : Lines(
                    await arguments.ReadAsync(parsed, console, cancellation), parsed.GetValue(names));
            int count = 0;
            foreach (string line in lines)
            {
                console.WriteLine(TerminalText.Neutralize(line));
                count++;
            }

            if (count == 0)
            {
                console.WriteLine("(no services)");
            }

            return ExitCode.Success;
        });
        return command;
    }

    private static bool HasSchema(SymbolArguments arguments, ParseResult parsed, ToolTarget target) =>
        arguments.HasSchema(parsed) || target.Named is { Schema.Count: > 0 };

    // Servers that have no reflection, but may answer a ping with the names of their services.
    private static bool IsSilent(RpcEndpoint endpoint) =>
        !endpoint.Has(EndpointFeatures.Reflection)
        && !(endpoint.IsHttp
            && endpoint.Uri.TrimEnd('/').EndsWith(".proto", StringComparison.OrdinalIgnoreCase));

    private static async Task<IEnumerable<string>> PingAsync(
        SymbolArguments arguments, ParseResult parsed, ToolTarget target, string[] symbols,
        ToolConsole console, CancellationToken cancellation)
    {
        if (symbols.Length > 0)
        {
            throw new UsageException(
                $"'{target.Endpoint}' reports only the names of its services. Give the .proto files with "
                + "--schema SOURCE to see methods.");
        }

        RpcClientOptions options = arguments.ClientOptions(parsed, target, console);
        RpcPingResult result = await CallFailedException.GuardAsync(
            async () =>
            {
                await using RpcClient client =
                    await RpcClient.ConnectAsync(target.Endpoint, options, cancellation);
                return await client.PingAsync(cancellationToken: cancellation);
            },
            cancellation);
        return result.Services;
    }

    private static IEnumerable<string> Lines((RpcSchema Schema, string[] Symbols) asked, bool namesAlone)
    {
        IEnumerable<RpcServiceInfo> services = asked.Symbols.Length == 0
            ? asked.Schema.ServedServices
            : asked.Symbols.Select(asked.Schema.GetService);
        foreach (RpcServiceInfo service in services)
        {
            if (!namesAlone || asked.Symbols.Length == 0)
            {
                yield return service.FullName;
            }

            if (!namesAlone)
            {
                foreach (RpcMethodInfo method in service.Methods)
                {
                    yield return $"  rpc {method.Signature};";
                }
            }
            else if (asked.Symbols.Length > 0)
            {
                foreach (RpcMethodInfo method in service.Methods)
                {
                    yield return method.FullName;
                }
            }
        }
    }
}
