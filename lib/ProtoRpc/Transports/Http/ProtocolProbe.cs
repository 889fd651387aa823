using System.Net.Security;
using System.Net.Sockets;
using System.Security.Authentication;
using ProtoRpc.Protocols.Dce;
using ProtoRpc.Protocols.Grpc;

namespace ProtoRpc.Transports.Http;

/// <summary>Finds out which protocol a server uses if it does not use the one of its endpoint. Makes separate
/// connections: one with an HTTP/1.1 request, one with a TLS handshake, and one with a DCE/RPC
/// bind.</summary>
internal static class ProtocolProbe
{
    private const int MaxAnswer = 1024;
    private const byte NativeVersion = 5;
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(1);

    /// <summary>Asks until one of the questions is understood; each of the three may take a second.</summary>
    public static async Task<SpokenProtocol> FindAsync(RpcEndpoint endpoint, CancellationToken cancellation)
    {
        SpokenProtocol found = await AskAsync(
            endpoint, stream => AskHttpAsync(stream, endpoint), cancellation).ConfigureAwait(false);
        if (found == SpokenProtocol.Unknown)
        {
            found = await AskAsync(endpoint, stream => AskTlsAsync(stream, endpoint), cancellation)
                .ConfigureAwait(false);
        }

        return found != SpokenProtocol.Unknown
            ? found
            : await AskAsync(endpoint, AskNativeAsync, cancellation).ConfigureAwait(false);
    }

    private static async Task<SpokenProtocol> AskAsync(
        RpcEndpoint endpoint, Func<Stream, Task<SpokenProtocol>> ask, CancellationToken cancellation)
    {
        using CancellationTokenSource end = CancellationTokenSource.CreateLinkedTokenSource(cancellation);
        end.CancelAfter(Patience);
        using Socket socket = new(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        try
        {
            await socket.ConnectAsync(endpoint.Host, endpoint.Port, end.Token).ConfigureAwait(false);
            await using NetworkStream stream = new(socket);
            await using CancellationTokenRegistration ends = end.Token.UnsafeRegister(
                static state => ((Socket)state!).Dispose(), socket);
            return await ask(stream).ConfigureAwait(false);
        }
        catch (Exception e) when (e is SocketException or IOException or OperationCanceledException
            or ObjectDisposedException or AuthenticationException or InvalidOperationException)
        {
            return SpokenProtocol.Unknown;
        }
    }

    private static async Task<SpokenProtocol> AskHttpAsync(Stream stream, RpcEndpoint endpoint)
    {
        string host = endpoint.Host.Contains(':') ? $"[{endpoint.Host}]" : endpoint.Host;
        await stream.WriteAsync(Encoding.ASCII.GetBytes(
            $"OPTIONS * HTTP/1.1\r\nHost: {host}:{endpoint.Port}\r\nConnection: close\r\n\r\n"))
                .ConfigureAwait(false);
        byte[] answer = new byte[MaxAnswer];
        int count = await stream.ReadAsync(answer).ConfigureAwait(false);
        if (count == 0)
        {
            return SpokenProtocol.Unknown;
        }

        switch (PeerGreetings.Judge(answer.AsSpan(0, count)))
        {
            case PeerGreeting.Http2:
                return SpokenProtocol.Http2;
            case PeerGreeting.Tls:
                return SpokenProtocol.Tls;
            case PeerGreeting.Http1:
                count += await stream.ReadAtLeastAsync(
                    answer.AsMemory(count), answer.Length - count, throwOnEndOfStream: false)
                        .ConfigureAwait(false);
                return JudgeHttp(Encoding.Latin1.GetString(answer, 0, count));
            default:
                return answer[0] == NativeVersion ? SpokenProtocol.Native : SpokenProtocol.Unknown;
        }
    }

    // Kestrel and nginx reply with HTTP/1.1 even if the port requires HTTP/2 or TLS, and mention it in the
    // text.
    private static SpokenProtocol JudgeHttp(string answer) =>
        !answer.StartsWith("HTTP/1.1 400", StringComparison.Ordinal) ? SpokenProtocol.Http1
        : answer.Contains("HTTP/2 only", StringComparison.OrdinalIgnoreCase) ? SpokenProtocol.Http2
        : answer.Contains("HTTPS port", StringComparison.OrdinalIgnoreCase) ? SpokenProtocol.Tls
        : SpokenProtocol.Http1;

    private static async Task<SpokenProtocol> AskTlsAsync(Stream stream, RpcEndpoint endpoint)
    {
        // Only tests whether the server supports TLS. Nothing is sent over it, so the certificate is not
        // validated.
        await using SslStream tls = new(stream, leaveInnerStreamOpen: true, static (_, _, _, _) => true);
        await tls.AuthenticateAsClientAsync(new SslClientAuthenticationOptions { TargetHost = endpoint.Host })
            .ConfigureAwait(false);
        return SpokenProtocol.Tls;
    }

    private static async Task<SpokenProtocol> AskNativeAsync(Stream stream)
    {
        ContextProposal context = new(0, SyntaxId.Interface(Guid.NewGuid()), [SyntaxId.Ndr]);
        ushort fragment = (ushort)RpcLimits.Default.MaxFragmentBytes;
        await stream.WriteAsync(new BindPdu(fragment, fragment, 0, [context]).ToBytes(PduType.Bind, 1))
            .ConfigureAwait(false);
        byte[] answer = new byte[PduHeader.Size];
        int count = await stream.ReadAtLeastAsync(answer, answer.Length, throwOnEndOfStream: false)
            .ConfigureAwait(false);
        return count == answer.Length && answer[0] == NativeVersion
            && (PduType)answer[2] is PduType.BindAck or PduType.BindNak or PduType.Fault
                ? SpokenProtocol.Native
                : SpokenProtocol.Unknown;
    }
}

/// <summary>The protocol of a server, as <see cref="ProtocolProbe"/> finds it.</summary>
internal enum SpokenProtocol
{
    /// <summary>None of these, or nothing.</summary>
    Unknown,

    /// <summary>HTTP/1.1 without TLS.</summary>
    Http1,

    /// <summary>Only HTTP/2, without TLS, as gRPC servers use it.</summary>
    Http2,

    /// <summary>TLS, with any protocol inside.</summary>
    Tls,

    /// <summary>DCE/RPC, the native protocol.</summary>
    Native,
}
