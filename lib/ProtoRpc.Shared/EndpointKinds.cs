using System.Reflection;

namespace ProtoRpc;

/// <summary>Looks kinds of endpoints up in their table, <see cref="RpcTransport"/>.</summary>
internal static class EndpointKinds
{
    /// <summary>Every kind, in the order of the table.</summary>
    public static IReadOnlyList<EndpointKindAttribute> All { get; } = Read();

    public static EndpointKindAttribute Of(RpcTransport transport) => All[(int)transport];

    /// <summary>The kind whose URIs have a scheme; null for an unknown one.</summary>
    public static EndpointKindAttribute? OfScheme(string scheme) =>
        All.FirstOrDefault(kind => kind.Scheme.Equals(scheme, StringComparison.OrdinalIgnoreCase));

    /// <summary>The kind whose string bindings have a protocol sequence, and an option if one is given; null
    /// for an unknown one.</summary>
    public static EndpointKindAttribute? OfSequence(string sequence, string option = "") =>
        sequence.Length == 0
            ? null
            : All.FirstOrDefault(kind =>
                kind.Sequence.Equals(sequence, StringComparison.OrdinalIgnoreCase)
                && kind.Option.Equals(option, StringComparison.OrdinalIgnoreCase));

    /// <summary>The schemes of the kinds that have any of some features, as texts name them.</summary>
    /// <param name="any">The features.</param>
    /// <param name="last">What stands before the last one.</param>
    public static string SchemesWith(EndpointFeatures any, string last = "or") =>
        Enumerate([.. All.Where(kind => kind.Has(any)).Select(kind => $"{kind.Scheme}://")], last);

    /// <summary>Names in one phrase.</summary>
    public static string Enumerate(IReadOnlyList<string> names, string last) => names.Count == 1
        ? names[0]
        : $"{string.Join(", ", names.SkipLast(1))} {last} {names[^1]}";

    private static EndpointKindAttribute[] Read()
    {
        RpcTransport[] transports = Enum.GetValues<RpcTransport>();
        EndpointKindAttribute[] kinds = new EndpointKindAttribute[transports.Length];
        foreach (RpcTransport transport in transports)
        {
            FieldInfo member = typeof(RpcTransport).GetField(transport.ToString())!;
            kinds[(int)transport] = member.GetCustomAttribute<EndpointKindAttribute>()!;
            kinds[(int)transport].Transport = transport;
        }

        return kinds;
    }
}
