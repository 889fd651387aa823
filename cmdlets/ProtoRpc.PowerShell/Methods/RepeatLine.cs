using System.Text;
using ProtoRpc.PowerShell.Completion;
using ProtoRpc.PowerShell.Connections;

namespace ProtoRpc.PowerShell.Methods;

/// <summary>The command that repeats a call, for <c>-Verbose</c>.</summary>
internal static class RepeatLine
{
    // A longer command is not useful at the prompt.
    private const int MaxLength = 4000;

    /// <summary>The command, with the requests as JSON; null if it is too long, or a request has no
    /// JSON.</summary>
    /// <param name="client">The client of the call.</param>
    /// <param name="method">The method.</param>
    /// <param name="requests">The requests.</param>
    /// <param name="endpoint">The argument of <c>-Endpoint</c>; null for a call over a connection.</param>
    /// <param name="schema">The argument of <c>-Schema</c>; null if it was not given.</param>
    /// <param name="all">Whether <c>-All</c> was given.</param>
    public static string? Create(
        RpcClient client, RpcMethodInfo method, IEnumerable<DynamicMessage> requests, string? endpoint,
        RpcSchemaSource? schema, bool all = false)
    {
        if (TextOf(requests) is not { } messages)
        {
            return null;
        }

        string line = $"Repeat: Invoke-RpcMethod {ScriptLiteral.Argument(method.FullName)} {messages} "
            + (endpoint is null ? ConnectionOf(client) : EndpointOf(endpoint, schema))
            + (all ? " -All" : "");
        return line.Length <= MaxLength ? line : null;
    }

    private static string? TextOf(IEnumerable<DynamicMessage> requests)
    {
        StringBuilder text = new();
        try
        {
            foreach (DynamicMessage request in requests)
            {
                text.Append(text.Length > 0 ? ", " : "")
                    .Append(ScriptLiteral.Format(MessageFormats.Json.ToText(request)));
                if (text.Length > MaxLength)
                {
                    return null;
                }
            }
        }
        catch (RpcException)
        {
            // Some valid messages have no JSON, such as a Value that is not a finite number.
            return null;
        }

        return text.ToString();
    }

    private static string ConnectionOf(RpcClient client) =>
        RunspaceStore.Current.Connections.FirstOrDefault(
            one => one.InterfaceId is null && one.Client == client) is { } known
            ? $"-Connection (Get-RpcConnection {known.Id})"
            : $"-Endpoint {ScriptLiteral.Format(client.Endpoint.ToString())}";

    private static string EndpointOf(string endpoint, RpcSchemaSource? schema)
    {
        string paths = schema is null ? ""
            : schema.Paths.Count > 0 ? string.Join(", ", schema.Paths.Select(ScriptLiteral.Format))
            : "$schema";
        return $"-Endpoint {ScriptLiteral.Format(endpoint)}" + (paths.Length > 0 ? $" -Schema {paths}" : "");
    }
}
