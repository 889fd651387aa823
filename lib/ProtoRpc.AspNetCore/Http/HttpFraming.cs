using System.Text;
using Microsoft.AspNetCore.Connections;
using Microsoft.Extensions.Primitives;
using Microsoft.Net.Http.Headers;

namespace ProtoRpc.AspNetCore.Http;

/// <summary>Rejects requests whose end RFC 9112 leaves open (sections 6.1 to 6.3) and Kestrel accepts. A
/// proxy in front could see another end, and take a part of the body for a request.</summary>
internal static class HttpFraming
{
    /// <summary>The encoding that Kestrel uses to decode the value of a header; null for Kestrel's
    /// default.</summary>
    public static Encoding? DecoderOf(string header) =>
        header.Equals(HeaderNames.ContentLength, StringComparison.OrdinalIgnoreCase) ? Digits.Only : null;

    /// <summary>Checks the transfer coding of a request; rejecting it closes the connection.</summary>
    /// <exception cref="HttpRefusal">400.</exception>
    public static void Check(HttpContext http)
    {
        StringValues coding = http.Request.Headers.TransferEncoding;
        if (coding.Count == 0
            || (coding.Count == 1 && !HttpProtocol.IsHttp10(http.Request.Protocol)
                && "chunked".Equals(coding[0], StringComparison.OrdinalIgnoreCase)))
        {
            return;
        }

        http.Response.Headers.Connection = "close";
        throw new HttpRefusal(
            StatusCodes.Status400BadRequest, RpcStatusCode.InvalidArgument,
            HttpProtocol.IsHttp10(http.Request.Protocol)
                ? "HTTP/1.0 has no Transfer-Encoding. Send HTTP/1.1, or a Content-Length."
                : $"The Transfer-Encoding '{coding}' is not supported; send 'chunked' once.");
    }

    /// <summary>Whether a body cannot be read because the caller disconnected or reset its stream. Over
    /// HTTP/1.1, Kestrel throws exceptions of the same type for malformed chunks.</summary>
    public static bool IsReset(HttpRequest request, IOException error) => error is ConnectionResetException
        || (error is not BadHttpRequestException && !HttpProtocol.IsHttp11(request.Protocol));

    /// <summary>Whether a body cannot be read because its chunks or its trailers are malformed. Kestrel
    /// checks the trailers like headers, but does not translate the exception of the check.</summary>
    public static bool IsMalformed(HttpRequest request, Exception error) => error switch
    {
        BadHttpRequestException or ObjectDisposedException => false,
        IOException broken => !IsReset(request, broken),
        _ => error is InvalidOperationException,
    };

    /// <summary>Latin-1 that has no other number than one of digits. Kestrel also parses '+2'.</summary>
    private sealed class Digits : Encoding
    {
        public static readonly Digits Only = new();

        private Digits()
        {
        }

        public override int GetByteCount(char[] chars, int index, int count) =>
            Latin1.GetByteCount(chars, index, count);

        public override int GetBytes(
            char[] chars, int charIndex, int charCount, byte[] bytes, int byteIndex) =>
            Latin1.GetBytes(chars, charIndex, charCount, bytes, byteIndex);

        public override int GetCharCount(byte[] bytes, int index, int count) => count;

        public override int GetChars(
            byte[] bytes, int byteIndex, int byteCount, char[] chars, int charIndex)
        {
            for (int i = 0; i < byteCount; i++)
            {
                char c = (char)bytes[byteIndex + i];
                chars[charIndex + i] = char.IsAsciiDigit(c) ? c : '?';
            }

            return byteCount;
        }

        public override int GetMaxByteCount(int charCount) => charCount;

        public override int GetMaxCharCount(int byteCount) => byteCount;
    }
}
