using System.Text;

namespace ProtoRpc.Protocols.Http;

/// <summary>The names of statuses in the Connect protocol: <c>not_found</c>.</summary>
internal static class ConnectCodes
{
    private static readonly Dictionary<RpcStatusCode, string> Names =
        Enum.GetValues<RpcStatusCode>().ToDictionary(code => code, SnakeCase);

    private static readonly Dictionary<string, RpcStatusCode> Codes =
        Names.ToDictionary(entry => entry.Value, entry => entry.Key, StringComparer.OrdinalIgnoreCase);

    public static string NameOf(RpcStatusCode code) => Names[code];

    /// <summary>The status of a name; null when there is none.</summary>
    public static RpcStatusCode? CodeOf(string name) =>
        Codes.TryGetValue(name, out RpcStatusCode code) && code != RpcStatusCode.OK ? code : null;

    // Connect writes canceled where gRPC writes CANCELLED.
    private static string SnakeCase(RpcStatusCode code)
    {
        if (code == RpcStatusCode.Cancelled)
        {
            return "canceled";
        }

        StringBuilder name = new();
        foreach (char c in code.ToString())
        {
            if (char.IsUpper(c) && name.Length > 0)
            {
                name.Append('_');
            }

            name.Append(char.ToLowerInvariant(c));
        }

        return name.ToString();
    }
}
