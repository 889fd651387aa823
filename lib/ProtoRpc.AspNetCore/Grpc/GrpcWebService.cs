using System.Buffers;
using System.Buffers.Text;
using System.IO.Pipelines;
using System.Text;
using ProtoRpc.AspNetCore.Http;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Grpc;
using ProtoRpc.Server;
using ProtoRpc.Server.Calls;

namespace ProtoRpc.AspNetCore.Grpc;

/// <summary>Answers calls of gRPC-Web, which browsers can send over any version of HTTP.</summary>
internal sealed class GrpcWebService(ServerHost host, RpcEndpoint endpoint)
{
    /// <summary>Whether a request is one of gRPC-Web.</summary>
    public static bool IsGrpcWeb(HttpRequest request) =>
        GrpcWebFraming.TypeOf(request.ContentType) is not null;

    /// <summary>Runs a call and sends the reply or the failure.</summary>
    /// <param name="http">The request.</param>
    /// <param name="method">The called method; null if it does not exist.</param>
    /// <param name="missing">The error for a method that does not exist.</param>
    /// <param name="peer">The caller.</param>
    /// <param name="aborted">Cancelled when the caller disconnects, or the server stops.</param>
    public async Task HandleAsync(
        HttpContext http, ServerMethod? method, string missing, PeerIdentity peer, CancellationToken aborted)
    {
        bool isText = GrpcWebFraming.TypeOf(http.Request.ContentType) == GrpcWebFraming.Text;
        http.Response.ContentType = (isText ? GrpcWebFraming.Text : GrpcWebFraming.Binary)
            + GrpcWebFraming.Proto;
        PipeWriter output = isText ? new GrpcWebText(http.Response.BodyWriter) : http.Response.BodyWriter;
        GrpcWebResponse response = new(http);
        try
        {
            ServerMethod found = method ?? throw new RpcException(RpcStatusCode.Unimplemented, missing);
            GrpcService.Bound(http, found);
            PipeReader input = isText
                ? await DecodeAsync(http).ConfigureAwait(false)
                : http.Request.BodyReader;
            GrpcCallProtocol call = new(host, endpoint, http, found, peer, input, output, response, aborted);
            await ServerCall.RunAsync(call).ConfigureAwait(false);
        }
        catch (RpcException e)
        {
            CallFailure failure = CallFailure.OfRequest(e);
            host.Monitor.Refuse(
                "grpc", endpoint, http.Request.Path.Value?.TrimStart('/'), peer, failure.Code,
                http.Request.ContentLength ?? 0, HttpActivity.ParentOf(http));
            await response.FailAsync(failure, null).ConfigureAwait(false);
            await response.EndAsync(output).ConfigureAwait(false);
        }
    }

    private async Task<PipeReader> DecodeAsync(HttpContext http)
    {
        RequestMemory.Share memory = new(host.Memory);
        try
        {
            return PipeReader.Create(new ReadOnlySequence<byte>(
                await GrpcWebText.ReadAsync(
                    http.Request.BodyReader, host.Options.Limits.MaxMessageBytes, memory, http.RequestAborted)
                    .ConfigureAwait(false)));
        }
        catch (Exception e) when (HttpFraming.IsMalformed(http.Request, e))
        {
            throw FrameRules.Grpc.Unreadable(e);
        }
        finally
        {
            // The decoded message is counted for the call instead.
            memory.Release();
        }
    }
}

/// <summary>The reply of a call of gRPC-Web: its trailers are the last frame of the body,
/// for browsers show none to pages.</summary>
internal sealed class GrpcWebResponse(HttpContext http) : GrpcResponse(http)
{
    private readonly StringBuilder _trailers = new();

    protected override bool HasTrailersOnly => false;

    public override async Task EndAsync(PipeWriter output)
    {
        byte[] body = Encoding.ASCII.GetBytes(_trailers.ToString());
        GrpcFraming.Write(output, FrameRules.Trailers, body);
        await output.FlushAsync().ConfigureAwait(false);
    }

    protected override void AppendTrailer(string name, string value) =>
        _trailers.Append(name).Append(':').Append(value).Append("\r\n");
}

/// <summary>The body of a reply as base64, with padding at the end of each flush.</summary>
internal sealed class GrpcWebText(PipeWriter inner) : PipeWriter
{
    private const int Quantum = 4;
    private readonly ArrayBufferWriter<byte> _pending = new();

    /// <summary>Reads a whole body of base64, whose pieces may have padding of their own.</summary>
    /// <exception cref="RpcException">Internal: not base64; ResourceExhausted:
    /// longer than a message may be.</exception>
    public static async ValueTask<byte[]> ReadAsync(
        PipeReader reader, int maxBytes, RequestMemory.Share memory, CancellationToken cancellation)
    {
        long maxText = ((maxBytes + (long)GrpcFraming.PrefixLength + 2) / 3 * Quantum) + Quantum;
        while (true)
        {
            ReadResult result = await reader.ReadAsync(cancellation).ConfigureAwait(false);
            if (result.Buffer.Length > maxText)
            {
                throw GrpcDefects.TooLarge($"sent more than {maxText:N0} characters", maxBytes);
            }

            if (!memory.TryHold(result.Buffer.Length))
            {
                // The rest is received and discarded, so that a client that still sends can read the reply.
                reader.AdvanceTo(result.Buffer.End);
                throw memory.Full();
            }

            if (result.IsCompleted)
            {
                byte[] text = result.Buffer.ToArray();
                reader.AdvanceTo(result.Buffer.End);
                return Decode(text);
            }

            reader.AdvanceTo(result.Buffer.Start, result.Buffer.End);
        }
    }

    public override void Advance(int bytes) => _pending.Advance(bytes);

    public override Memory<byte> GetMemory(int sizeHint = 0) => _pending.GetMemory(sizeHint);

    public override Span<byte> GetSpan(int sizeHint = 0) => _pending.GetSpan(sizeHint);

    public override void CancelPendingFlush() => inner.CancelPendingFlush();

    public override void Complete(Exception? exception = null) => inner.Complete(exception);

    public override ValueTask<FlushResult> FlushAsync(CancellationToken cancellationToken = default)
    {
        int length = Base64.GetMaxEncodedToUtf8Length(_pending.WrittenCount);
        Base64.EncodeToUtf8(_pending.WrittenSpan, inner.GetSpan(length), out _, out int written);
        inner.Advance(written);
        _pending.ResetWrittenCount();
        return inner.FlushAsync(cancellationToken);
    }

    private static byte[] Decode(ReadOnlySpan<byte> text)
    {
        byte[] bytes = new byte[Base64.GetMaxDecodedFromUtf8Length(text.Length)];
        int length = 0;
        while (text.Length > 0)
        {
            // A piece with padding ends in its last quantum of four characters, so the text is decoded up to
            // there.
            int padding = text.IndexOf((byte)'=');
            int end = padding < 0 ? text.Length : Math.Min(text.Length, ((padding / Quantum) + 1) * Quantum);
            OperationStatus status = Base64.DecodeFromUtf8(
                text[..end], bytes.AsSpan(length), out _, out int written);
            if (status != OperationStatus.Done)
            {
                throw GrpcDefects.BadFrame("the body is not base64, although its media type says so");
            }

            length += written;
            text = text[end..];
        }

        return bytes[..length];
    }
}
