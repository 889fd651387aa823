using System.Globalization;

namespace ProtoRpc;

/// <summary>A row of the table of endpoint kinds, which is <see cref="RpcTransport"/>.</summary>
/// <param name="scheme">The scheme of its URIs.</param>
/// <param name="protocol">What is spoken there, as texts call it.</param>
/// <param name="form">What its addresses have.</param>
/// <param name="features">What its endpoints are and can carry.</param>
[AttributeUsage(AttributeTargets.Field)]
internal sealed class EndpointKindAttribute(
    string scheme, string protocol, AddressForm form, EndpointFeatures features) : Attribute
{
    private const int NoPort = -1;

    public string Scheme => scheme;

    public string Protocol => protocol;

    public AddressForm Form => form;

    public EndpointFeatures Features => features;

    /// <summary>The protocol sequence of its string bindings; empty for a kind that has only URIs.</summary>
    public string Sequence { get; init; } = "";

    /// <summary>What follows the endpoint of a string binding after a comma, where kinds share a protocol
    /// sequence; empty for nothing.</summary>
    public string Option { get; init; } = "";

    /// <summary>The port where none is written; -1 when one must be.</summary>
    public int DefaultPort { get; init; } = NoPort;

    /// <summary>The port of examples; the default port where none is given.</summary>
    public int ExamplePort { get; init; } = NoPort;

    /// <summary>What it is, in a few words.</summary>
    public required string Hint { get; init; }

    /// <summary>The member of the enumeration that the row stands at.</summary>
    public RpcTransport Transport { get; set; }

    public bool HasDefaultPort => DefaultPort != NoPort;

    /// <summary>Whether an address has a port of a host, where somebody else's server may listen.</summary>
    public bool HasPort => form is AddressForm.HostAndPort or AddressForm.HostPortAndPath;

    /// <summary>Whether an address may be without a host, because it can mean this machine.</summary>
    public bool MayLackHost => !HasPort;

    /// <summary>Whether an address has a name and no path.</summary>
    public bool HasName => form is AddressForm.HostAndName or AddressForm.NameAlone;

    /// <summary>The same protocol with TLS, or without where this one has it; null when there is no such
    /// kind.</summary>
    public EndpointKindAttribute? Twin => EndpointKinds.All.FirstOrDefault(
        other => other.Protocol == protocol && other.Form == form
            && other.Features == (features ^ EndpointFeatures.Tls));

    /// <summary>The scheme of the same protocol with TLS, or without.</summary>
    public string SchemeWith(bool tls) =>
        Has(EndpointFeatures.Tls) == tls ? scheme : Twin?.Scheme ?? (tls ? "https" : "http");

    /// <summary>Whether endpoints of this kind have any of some features.</summary>
    public bool Has(EndpointFeatures any) => (features & any) != 0;

    /// <summary>An address with a scheme.</summary>
    public string ToUri(string host, int port, string name)
    {
        string place = host.Contains(':') ? $"[{host}]" : host;
        return form switch
        {
            AddressForm.HostAndPort => $"{scheme}://{place}:{Text(port)}",
            AddressForm.HostPortAndPath => $"{scheme}://{place}:{Text(port)}{name}",
            AddressForm.HostAndName => $"{scheme}://{(host.Length == 0 ? "." : host)}/{name}",
            _ => $"{scheme}://{name}",
        };
    }

    /// <summary>An address as a string binding, or with its scheme where it has no protocol
    /// sequence.</summary>
    public string ToBinding(string host, int port, string name) => Sequence.Length == 0
        ? ToUri(host, port, name)
        : form switch
        {
            AddressForm.HostAndPort => $"{Sequence}:{host}[{Text(port)}]",
            AddressForm.HostAndName => $@"{Sequence}:{host}[\pipe\{name}]",
            _ => $"{Sequence}:[{name}{(Option.Length == 0 ? "" : $",{Option}")}]",
        };

    /// <summary>An example of an address, as a string binding if the kind has one.</summary>
    public string ExampleBinding(string host) =>
        ToBinding(HasPort ? host : "", ExamplePortOrDefault, ExampleName);

    /// <summary>What an address looks like with its scheme.</summary>
    public string ExampleUri(string host) => ToUri(HasPort ? host : "", ExamplePortOrDefault, ExampleName);

    private int ExamplePortOrDefault => ExamplePort == NoPort ? DefaultPort : ExamplePort;

    private string ExampleName => form switch
    {
        AddressForm.HostPortAndPath => "/",
        AddressForm.SocketPath => "/PATH",
        _ => "NAME",
    };

    private static string Text(int port) => port.ToString(CultureInfo.InvariantCulture);
}

/// <summary>What the address of an endpoint has, and how it is written.</summary>
internal enum AddressForm
{
    /// <summary><c>scheme://host:port</c>, <c>sequence:host[port]</c>.</summary>
    HostAndPort,

    /// <summary><c>scheme://host:port/path</c>.</summary>
    HostPortAndPath,

    /// <summary><c>scheme://host/name</c>, <c>sequence:host[\pipe\name]</c>; the host <c>.</c>, or none, is
    /// this machine.</summary>
    HostAndName,

    /// <summary><c>scheme://name</c>, <c>sequence:[name]</c>.</summary>
    NameAlone,

    /// <summary><c>scheme:///path</c> of a socket.</summary>
    SocketPath,
}
