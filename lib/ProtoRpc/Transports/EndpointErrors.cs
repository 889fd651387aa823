using System.Net.Sockets;
using System.Security.Cryptography.X509Certificates;
using ProtoRpc.Protocols.Grpc;
using ProtoRpc.Security;
using ProtoRpc.Transports.Http;

namespace ProtoRpc.Transports;

/// <summary>Creates exceptions from the system's errors about endpoints.</summary>
internal static class EndpointErrors
{
    private const string UseTls = "RpcServerOptions.UseTls";
    private const string Certificate = "RpcServerOptions.Certificate";

    public static RpcException CannotListen(RpcEndpoint endpoint, SocketException exception)
    {
        (RpcStatusCode code, string what) = exception.SocketErrorCode switch
        {
            SocketError.AddressAlreadyInUse => (RpcStatusCode.AlreadyExists, ""),
            SocketError.AccessDenied => (RpcStatusCode.PermissionDenied,
                "this account may not listen there. Use a port above 1023, or another account"),
            SocketError.AddressNotAvailable => (RpcStatusCode.Unavailable,
                "no network interface of this machine has that address. Use 127.0.0.1, 0.0.0.0 or an "
                + "address of this machine"),
            SocketError.HostNotFound or SocketError.NoData =>
                (RpcStatusCode.Unavailable, "the host name is unknown"),
            _ => (RpcStatusCode.Unavailable, exception.Message),
        };
        return code == RpcStatusCode.AlreadyExists
            ? InUse(endpoint, exception)
            : new RpcException(code, $"Cannot listen on '{endpoint}': {what}.", endpoint, exception);
    }

    /// <summary>Somebody else listens there.</summary>
    public static RpcException InUse(RpcEndpoint endpoint, Exception? exception = null) => new(
        RpcStatusCode.AlreadyExists, RpcErrorIds.EndpointInUse,
        $"Cannot listen on '{endpoint}': it is in use by another listener. Stop that one, or use another "
        + (endpoint.Host.Length > 0 ? "port (0 for a free one)." : "name."), endpoint, exception);

    /// <summary>This system does not have the transport.</summary>
    public static RpcException NeedsWindows(RpcEndpoint endpoint) => new(
        RpcStatusCode.Unimplemented, RpcErrorIds.TransportNotSupported,
        $"'{endpoint}' works on Windows only: LRPC is the local RPC of Windows, and other programs on it. "
        + $"Use '{RpcEndpoint.Local(endpoint.Name)}' within this machine, or a TCP endpoint for a service on "
        + "Windows.", endpoint);

    /// <summary>This system does not have abstract sockets.</summary>
    public static RpcException NeedsLinux(RpcEndpoint endpoint) => new(
        RpcStatusCode.Unimplemented, RpcErrorIds.TransportNotSupported,
        $"'{endpoint}' works on Linux only, because other systems have no sockets without a file. Use the "
        + "path of a socket, grpc+unix:///PATH.", endpoint);

    /// <summary>An endpoint speaks TLS with one certificate, or none.</summary>
    public static RpcException OtherCertificate(RpcEndpoint endpoint) => new(
        RpcStatusCode.FailedPrecondition, RpcErrorIds.OtherCertificate,
        $"'{endpoint}' is served by another listener of this process with another certificate, or with "
        + "none. Use the same, or another port.", endpoint);

    /// <summary>TLS is for TCP.</summary>
    public static RpcException NoTls(RpcEndpoint endpoint) => new(
        RpcStatusCode.InvalidArgument, RpcErrorIds.TlsNotSupported,
        $"TLS is an option of native endpoints on TCP, and '{endpoint}' is not one. Local endpoints need no "
        + $"TLS; {EndpointKinds.SchemesWith(EndpointFeatures.Tls, "and")} always use it.", endpoint);

    /// <summary>Rejects TLS on TCP without a TCP endpoint or without a certificate, and a certificate that no
    /// endpoint uses.</summary>
    /// <exception cref="RpcException">InvalidArgument.</exception>
    public static void RequireTls(
        IReadOnlyList<RpcEndpoint> endpoints, bool useTls, X509Certificate2? certificate)
    {
        RpcEndpoint? tcp = endpoints.FirstOrDefault(endpoint => endpoint.Has(EndpointFeatures.OptionalTls));
        string tcpSchemes = EndpointKinds.SchemesWith(EndpointFeatures.OptionalTls);
        string all = string.Join("', '", endpoints);
        if (useTls && tcp is null)
        {
            throw Refused(
                $"{UseTls} is for {tcpSchemes} endpoints, and none of '{all}' is of this kind. Leave "
                + $"{UseTls} out, or add a {tcpSchemes} endpoint.",
                RpcErrorIds.TlsNotSupported, endpoints[0]);
        }

        if (useTls && certificate is null)
        {
            throw Refused(
                $"Cannot listen on '{tcp}': TLS needs a certificate with its private key. Set "
                + $"{Certificate}, or leave out {UseTls}.",
                RpcErrorIds.MissingCertificate, tcp!);
        }

        if (certificate is not null && !useTls && !endpoints.Any(endpoint => endpoint.IsTls))
        {
            throw Refused(
                $"No endpoint of '{all}' uses the certificate '{certificate.Subject}'. Leave the certificate "
                + $"out, add an endpoint of {EndpointKinds.SchemesWith(EndpointFeatures.Tls, "or")}, or set "
                + $"{UseTls} with one of {tcpSchemes}.",
                RpcErrorIds.TlsNotSupported, endpoints[0]);
        }
    }

    private static RpcException Refused(string message, string errorId, RpcEndpoint endpoint) =>
        new(RpcStatusCode.InvalidArgument, errorId, message, endpoint);

    /// <summary>A certificate that proves nothing.</summary>
    public static RpcException NoPrivateKey(RpcEndpoint endpoint, string subject) => new(
        RpcStatusCode.InvalidArgument, RpcErrorIds.MissingCertificate,
        $"Cannot listen on '{endpoint}': the certificate '{subject}' has no private key.", endpoint);

    public static RpcException CannotConnect(RpcEndpoint endpoint, Exception exception)
    {
        SocketError error = (exception as SocketException)?.SocketErrorCode ?? SocketError.SocketError;
        if (error == SocketError.AccessDenied && endpoint.Has(EndpointFeatures.OtherAccounts))
        {
            return NotAllowed(endpoint, exception);
        }

        (RpcStatusCode code, string what) = error switch
        {
            SocketError.ConnectionRefused => (RpcStatusCode.Unavailable,
                "nothing listens there. Start the listener, or check the endpoint"),
            SocketError.AccessDenied =>
                (RpcStatusCode.PermissionDenied, "this account may not connect there"),
            SocketError.HostNotFound or SocketError.NoData or SocketError.TryAgain =>
                (RpcStatusCode.Unavailable,
                "the host name is unknown. Check the spelling and DNS"),
            _ => (RpcStatusCode.Unavailable, exception.Message.TrimEnd('.') + ". Check the endpoint"),
        };
        return new RpcException(code, $"Cannot connect to '{endpoint}': {what}.", endpoint, exception);
    }

    /// <summary>The account that listens has not allowed this one.</summary>
    public static RpcException NotAllowed(RpcEndpoint endpoint, Exception exception) => new(
        RpcStatusCode.PermissionDenied,
        $"Cannot connect to '{endpoint}': this account may not connect there. {AllowedAccounts.Advice}",
        endpoint, exception);

    /// <summary>The error if there is no pipe or local endpoint with the name.</summary>
    /// <param name="endpoint">The endpoint.</param>
    /// <param name="owner">The machine or account whose names were searched, for the error.</param>
    /// <param name="advice">Further advice.</param>
    public static RpcException NoSuchName(RpcEndpoint endpoint, string owner, string advice = "") => new(
        RpcStatusCode.Unavailable,
        $"Cannot connect to '{endpoint}': nothing listens under that name for {owner}. Start the "
        + $"listener, or check the name.{advice}", endpoint);

    /// <summary>Connecting was cancelled by the caller, or else took too long.</summary>
    public static RpcException ConnectGivenUp(
        RpcEndpoint endpoint, TimeSpan timeout, OperationCanceledException exception,
        CancellationToken cancellation) =>
        cancellation.IsCancellationRequested ? ConnectCancelled(endpoint, exception)
        : exception is HostLookupTimeout lookup ? LookupTimedOut(endpoint, lookup, timeout)
        : ConnectTimedOut(endpoint, timeout);

    private static RpcException LookupTimedOut(
        RpcEndpoint endpoint, HostLookupTimeout lookup, TimeSpan timeout) => new(
        RpcStatusCode.DeadlineExceeded, RpcErrorIds.ConnectTimeout,
        $"Cannot connect to '{endpoint}': DNS did not resolve the host name '{lookup.Host}' within "
        + $"{timeout.TotalSeconds:0.###} s. Check the name and the DNS servers of this machine, or raise "
        + $"{nameof(RpcLimits)}.{nameof(RpcLimits.ConnectTimeout)}.", endpoint, lookup);

    /// <summary>Connecting took too long.</summary>
    public static RpcException ConnectTimedOut(RpcEndpoint endpoint, TimeSpan timeout) => new(
        RpcStatusCode.DeadlineExceeded, RpcErrorIds.ConnectTimeout,
        $"'{endpoint}' did not accept the connection within {timeout.TotalSeconds:0.###} s. Check host and "
        + $"firewall, or raise {nameof(RpcLimits)}.{nameof(RpcLimits.ConnectTimeout)}.", endpoint);

    /// <summary>The caller cancelled while the client was connecting.</summary>
    public static RpcException ConnectCancelled(RpcEndpoint endpoint, Exception? exception = null) => new(
        RpcStatusCode.Cancelled,
        $"Connecting to '{endpoint}' was cancelled.", endpoint, exception);
}

/// <summary>Creates exceptions for servers that use another protocol than the endpoint's.</summary>
internal static class WrongProtocolErrors
{
    public static RpcException WrongProtocol(RpcEndpoint endpoint, PeerGreeting greeting, string firstLine)
    {
        bool wantsTls = endpoint.IsTls;
        string place = PlaceOf(endpoint);
        string what = greeting switch
        {
            PeerGreeting.Tls => $"it speaks TLS. Use {TlsForm(endpoint)}",
            PeerGreeting.Http1 when wantsTls =>
                $"it speaks plain HTTP/1 ('{firstLine}'), without TLS. Use http://{place}/",
            PeerGreeting.Http1 => $"it speaks HTTP/1 ('{firstLine}'), and gRPC needs HTTP/2. "
                + "Check the port and any proxy",
            PeerGreeting.Http1Required => SpeaksHttp1(place),
            PeerGreeting.Http2 => $"it speaks HTTP/2 without TLS. Use {PlainForm(endpoint)}",
            _ when wantsTls => "it does not speak TLS. Check the port",
            _ => "it does not speak HTTP/2. Check the port",
        };
        return Make(endpoint, what, null);
    }

    /// <summary>A server that was found to speak something else.</summary>
    public static RpcException Other(RpcEndpoint endpoint, SpokenProtocol found, Exception? inner)
    {
        string place = PlaceOf(endpoint);
        return Make(
            endpoint,
            found switch
            {
                SpokenProtocol.Http1 when endpoint.IsOverHttp =>
                    $"it speaks HTTP/1.1 without TLS. Use {PlainForm(endpoint)}/",
                SpokenProtocol.Http1 => SpeaksHttp1(place),
                SpokenProtocol.Http2 => $"it speaks HTTP/2 without TLS, as gRPC does. Use grpc://{place}",
                SpokenProtocol.Native => "it speaks DCE/RPC. Use "
                    + RpcEndpoint.Tcp(endpoint.Host, endpoint.Port),
                SpokenProtocol.Unknown =>
                    "it asks for HTTP/1.1, and gRPC needs HTTP/2. Use https:// for its HTTP "
                    + "endpoint, or check the port and any proxy",
                _ => endpoint.IsNative
                    ? "it speaks TLS. Use RpcClientOptions.UseTls if DCE/RPC is served there, or "
                    + $"https://{place}/ or grpcs://{place}"
                    : $"it speaks TLS. Use {TlsForm(endpoint)}",
            },
            inner);
    }

    /// <summary>The call needs HTTP/2, but the server only supports HTTP/1.1. The call did not run.</summary>
    public static RpcException NeedsHttp2(RpcEndpoint endpoint, Exception? inner) => Make(
        endpoint,
        "it does not speak HTTP/2, which a stream in both directions needs. "
        + (endpoint.IsTls
            ? "Check any proxy, or use a method that streams in one direction"
            : $"Most servers speak HTTP/2 only over TLS: use {TlsForm(endpoint)}"),
        inner);

    public static RpcException HungUp(RpcEndpoint endpoint, Exception? inner) => Make(
        endpoint,
        "it closed the connection without a reply. " + (endpoint.IsTls
            ? $"It may not speak TLS ({PlainForm(endpoint)}), or be stopping"
            : $"It may require TLS ({TlsForm(endpoint)}), or be stopping"),
        inner);

    public static RpcException Silent(RpcEndpoint endpoint, TimeSpan patience) => new(
        RpcStatusCode.DeadlineExceeded, RpcErrorIds.ConnectTimeout,
        $"'{endpoint}' accepted the connection, but sent nothing for {patience.TotalSeconds:0.###} s. Check "
        + "that it is a gRPC server"
        + (endpoint.IsTls ? "" : $", and whether it requires TLS ({TlsForm(endpoint)})")
        + $", or raise {nameof(RpcLimits)}.{nameof(RpcLimits.ConnectTimeout)}.", endpoint);

    /// <summary>A call was sent to a server that has not begun to speak HTTP/2, so it cannot have
    /// run.</summary>
    public static RpcException SilentToCall(RpcEndpoint endpoint, TimeSpan waited) => new(
        RpcStatusCode.DeadlineExceeded, RpcErrorIds.ConnectTimeout,
        $"'{endpoint}' accepted the connection, but sent nothing for {waited.TotalSeconds:0.###} s; the call "
        + "did not run. Check whether the server hangs, and that it is a gRPC server"
        + (endpoint.IsTls ? "." : $" without TLS (with TLS: {TlsForm(endpoint)})."), endpoint);

    public static RpcException NoHttp2(RpcEndpoint endpoint, Exception? inner = null) => Make(
        endpoint,
        "it speaks TLS, but does not offer HTTP/2 (ALPN h2), which gRPC needs. Use "
        + $"https://{PlaceOf(endpoint)}/ if it is an HTTP endpoint; otherwise enable HTTP/2 on the server, "
        + "or on the proxy before it",
        inner);

    private static RpcException Make(RpcEndpoint endpoint, string what, Exception? inner) => new(
        RpcStatusCode.Unavailable, RpcErrorIds.WrongProtocol,
        $"The server at '{endpoint}' cannot be used: {what}.", endpoint, inner);

    private static string SpeaksHttp1(string place) =>
        $"it speaks HTTP/1.1 without TLS. Use http://{place}/";

    private static string TlsForm(RpcEndpoint endpoint) =>
        endpoint is { IsTls: false, Kind.Twin: { } twin } ? $"{twin.Scheme}://{PlaceOf(endpoint)}" : "TLS";

    private static string PlainForm(RpcEndpoint endpoint) =>
        $"{endpoint.Kind.SchemeWith(tls: false)}://{PlaceOf(endpoint)}";

    private static string PlaceOf(RpcEndpoint endpoint) =>
        $"{(endpoint.Host.Contains(':') ? $"[{endpoint.Host}]" : endpoint.Host)}:{endpoint.Port}";
}
