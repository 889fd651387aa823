using System.Net.Http.Headers;

namespace ProtoRpc.Client.Http;

/// <summary>A request whose bytes come from the caller's stream, which stays open: a call that is made again
/// reads it from its start.</summary>
internal sealed class UploadContent : StreamContent
{
    public UploadContent(Stream request)
        : base(request) =>
        Headers.ContentType = MediaTypeHeaderValue.Parse(MessageFormats.Binary.MediaType);

    protected override void Dispose(bool disposing)
    {
        // The base class would close the stream.
    }
}
