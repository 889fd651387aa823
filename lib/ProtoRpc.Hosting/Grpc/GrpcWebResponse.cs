using System.Buffers;
using System.IO.Pipelines;
using System.Text;
using Microsoft.AspNetCore.Http;
using ProtoRpc.Protocols.Grpc;

namespace ProtoRpc.Hosting.Grpc;

/// <summary>The reply of a call of gRPC-Web: its trailers are the last frame of the body,
/// for browsers show none to pages.</summary>
internal sealed class GrpcWebResponse(HttpContext http) : GrpcResponse(http)
{
    private const byte TrailersFlag = 0x80;

    private readonly StringBuilder _trailers = new();

    /// <inheritdoc/>
    protected override bool HasTrailersOnly => false;

    /// <inheritdoc/>
    public override async Task EndAsync(PipeWriter output)
    {
        byte[] body = Encoding.ASCII.GetBytes(_trailers.ToString());
        Span<byte> prefix = output.GetSpan(GrpcFraming.PrefixLength);
        GrpcFraming.WritePrefix(prefix, isCompressed: false, body.Length);
        prefix[0] = TrailersFlag;
        output.Advance(GrpcFraming.PrefixLength);
        output.Write(body);
        await output.FlushAsync().ConfigureAwait(false);
    }

    /// <inheritdoc/>
    protected override void AppendTrailer(string name, string value) =>
        _trailers.Append(name).Append(':').Append(value).Append("\r\n");
}
