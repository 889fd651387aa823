using System.Net.Security;
using System.Net.Sockets;
using System.Security.Authentication;
using System.Security.Cryptography.X509Certificates;
using ProtoRpc.Security;
using ProtoRpc.Wire.Grpc;

namespace ProtoRpc.Transports.Http;

/// <summary>Makes the connections of HTTP/2: TCP or a Unix socket, with TLS where the endpoint says so.</summary>
internal static class HttpDialer
{
    /// <summary>Connects and shakes hands.</summary>
    /// <exception cref="RpcException">Unavailable, DeadlineExceeded, Cancelled; says what is wrong.</exception>
    public static async Task<Stream> DialAsync(
        RpcEndpoint endpoint, RpcTlsOptions tls, TimeSpan timeout, CancellationToken cancellation)
    {
        using CancellationTokenSource end = CancellationTokenSource.CreateLinkedTokenSource(cancellation);
        end.CancelAfter(timeout);
        Stream? stream = null;
        try
        {
            stream = await ConnectAsync(endpoint, end.Token).ConfigureAwait(false);
            PeerGreeting expected = endpoint.IsTls ? PeerGreeting.Tls : PeerGreeting.Http2;
            GreetedStream greeted = new(stream, endpoint, expected, timeout);
            return endpoint.IsTls
                ? await ShakeHandsAsync(greeted, endpoint, tls, end.Token).ConfigureAwait(false)
                : greeted;
        }
        catch (Exception e)
        {
            stream?.Dispose();
            throw Explain(e, endpoint, timeout, cancellation);
        }
    }

    private static RpcException Explain(
        Exception exception, RpcEndpoint endpoint, TimeSpan timeout, CancellationToken cancellation) => exception switch
        {
            RpcException known => known,
            SocketException e => EndpointErrors.CannotConnect(endpoint, e),
            OperationCanceledException when cancellation.IsCancellationRequested =>
                EndpointErrors.ConnectCancelled(endpoint, exception),
            OperationCanceledException => EndpointErrors.ConnectTimedOut(endpoint, timeout),
            _ => EndpointErrors.CannotConnect(endpoint, exception),
        };

    private static async Task<Stream> ConnectAsync(RpcEndpoint endpoint, CancellationToken cancellation)
    {
        bool local = endpoint.Transport == RpcTransport.GrpcUnix;
        Socket socket = local
            ? new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified)
            : new Socket(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        try
        {
            if (local)
            {
                await socket.ConnectAsync(SocketAddress(endpoint), cancellation).ConfigureAwait(false);
            }
            else
            {
                await socket.ConnectAsync(endpoint.Host, endpoint.Port, cancellation).ConfigureAwait(false);
            }

            return new NetworkStream(socket, ownsSocket: true);
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }

    private static UnixDomainSocketEndPoint SocketAddress(RpcEndpoint endpoint)
    {
        if (!File.Exists(endpoint.Name))
        {
            throw new RpcException(
                RpcStatusCode.Unavailable,
                $"Cannot connect to '{endpoint}': there is no socket '{endpoint.Name}'. Start the server, or check the path.")
            {
                Endpoint = endpoint,
            };
        }

        try
        {
            return new UnixDomainSocketEndPoint(endpoint.Name);
        }
        catch (ArgumentOutOfRangeException e)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, $"The path of '{endpoint}' is too long for a Unix socket.", e)
            {
                ErrorId = "EndpointNameTooLong",
                Endpoint = endpoint,
            };
        }
    }

    private static async Task<Stream> ShakeHandsAsync(
        Stream stream, RpcEndpoint endpoint, RpcTlsOptions tls, CancellationToken cancellation)
    {
        string? distrust = null;
        SslStream secured = new(stream);
        SslClientAuthenticationOptions options = new()
        {
            TargetHost = tls.ServerName ?? endpoint.Host,
            ApplicationProtocols = [SslApplicationProtocol.Http2],
            CertificateChainPolicy = ChainPolicy(tls),
            ClientCertificates = tls.ClientCertificate is null ? null : [tls.ClientCertificate],
            LocalCertificateSelectionCallback = tls.ClientCertificate is null
                ? null
                : (_, _, _, _, _) => tls.ClientCertificate,
            RemoteCertificateValidationCallback = (_, certificate, chain, errors) =>
            {
                distrust = errors == SslPolicyErrors.None ? null : Describe(certificate, chain, errors);
                return distrust is null || tls.SkipCertificateCheck;
            },
        };
        try
        {
            await secured.AuthenticateAsClientAsync(options, cancellation).ConfigureAwait(false);
        }
        catch (AuthenticationException e) when (distrust is not null)
        {
            throw HttpErrors.Untrusted(endpoint, distrust, e);
        }
        catch (Exception e) when (e is AuthenticationException or IOException)
        {
            throw HttpErrors.HandshakeFailed(endpoint, e);
        }

        return secured.NegotiatedApplicationProtocol == SslApplicationProtocol.Http2
            ? secured
            : throw HttpErrors.NoHttp2(endpoint);
    }

    // Without revocation lists: they would be fetched from wherever the certificate says.
    private static X509ChainPolicy ChainPolicy(RpcTlsOptions tls)
    {
        X509ChainPolicy policy = new() { RevocationMode = X509RevocationMode.NoCheck };
        if (tls.CaCertificates is { } authorities)
        {
            policy.TrustMode = X509ChainTrustMode.CustomRootTrust;
            policy.CustomTrustStore.AddRange(authorities);
        }

        return policy;
    }

    private static string Describe(X509Certificate? certificate, X509Chain? chain, SslPolicyErrors errors)
    {
        List<string> reasons = [];
        if (errors.HasFlag(SslPolicyErrors.RemoteCertificateNotAvailable))
        {
            reasons.Add("it shows no certificate");
        }

        if (errors.HasFlag(SslPolicyErrors.RemoteCertificateNameMismatch))
        {
            reasons.Add($"its certificate is for another name ({certificate?.Subject})");
        }

        if (errors.HasFlag(SslPolicyErrors.RemoteCertificateChainErrors))
        {
            IEnumerable<string> states = (chain?.ChainStatus ?? []).Select(s => s.StatusInformation.Trim().TrimEnd('.'));
            reasons.Add($"its certificate ({certificate?.Subject}) is not valid: {string.Join(", ", states.Distinct())}");
        }

        return string.Join("; ", reasons);
    }
}
