using System.Buffers;
using System.IO.Pipelines;
using Microsoft.AspNetCore.Http;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Http;

namespace ProtoRpc.Hosting.Http;

/// <summary>The bytes of a request's body, all of them,
/// within the limit also after they were decompressed.</summary>
/// <remarks>Valid until it is disposed.</remarks>
internal sealed class RequestBody : IDisposable
{
    private readonly PipeReader? _reader;
    private readonly PooledMessageBytes? _inflated;

    private RequestBody(ReadOnlySequence<byte> bytes, PipeReader? reader, PooledMessageBytes? inflated)
    {
        Bytes = bytes;
        _reader = reader;
        _inflated = inflated;
    }

    public ReadOnlySequence<byte> Bytes { get; }

    /// <summary>Reads a body to its end.</summary>
    /// <exception cref="HttpRefusal">Too large, or compressed in a way
    /// that is not known or not right.</exception>
    /// <exception cref="RpcException">ResourceExhausted where all requests together are too
    /// large.</exception>
    public static async ValueTask<RequestBody> ReadAsync(
        HttpRequest request, int maxBytes, RequestMemory.Share memory, CancellationToken cancellation)
    {
        string encoding = request.Headers.ContentEncoding.ToString();
        if (encoding.Length == 0 || encoding.Equals("identity", StringComparison.OrdinalIgnoreCase))
        {
            return await ReadPlainAsync(request.BodyReader, maxBytes, memory, cancellation)
                .ConfigureAwait(false);
        }

        return await InflateAsync(request.Body, encoding, maxBytes, memory, cancellation)
            .ConfigureAwait(false);
    }

    /// <summary>Bytes in memory, as a body.</summary>
    public static RequestBody Of(byte[] bytes) =>
        new(new ReadOnlySequence<byte>(bytes), reader: null, inflated: null);

    /// <summary>Reads compressed bytes to their end.</summary>
    /// <inheritdoc cref="ReadAsync"/>
    public static async ValueTask<RequestBody> InflateAsync(
        Stream compressed, string encoding, int maxBytes, RequestMemory.Share memory,
        CancellationToken cancellation)
    {
        // Kestrel bounds what comes, this what becomes of it.
        PooledMessageBytes inflated = new(maxBytes, "request");
        try
        {
            await using Stream stream = Decompress(compressed, encoding);
            int read;
            while ((read = await stream.ReadAsync(inflated.GetMemory(), cancellation)
                .ConfigureAwait(false)) > 0)
            {
                inflated.Advance(read);
                memory.Hold(inflated.Length);
            }

            return new RequestBody(
                new ReadOnlySequence<byte>(inflated.Message), reader: null, inflated);
        }
        catch (Exception e)
        {
            inflated.Dispose();
            throw e switch
            {
                RpcException { ErrorId: RpcErrorIds.MessageTooLarge } => TooLarge(maxBytes),
                InvalidDataException => new HttpRefusal(
                    StatusCodes.Status400BadRequest, RpcStatusCode.InvalidArgument,
                    $"The body is not {encoding}: {e.Message}"),
                _ => e,
            };
        }
    }

    public void Dispose()
    {
        _reader?.AdvanceTo(Bytes.End);
        _inflated?.Dispose();
    }

    private static async ValueTask<RequestBody> ReadPlainAsync(
        PipeReader reader, int maxBytes, RequestMemory.Share memory, CancellationToken cancellation)
    {
        while (true)
        {
            ReadResult result;
            try
            {
                result = await reader.ReadAsync(cancellation).ConfigureAwait(false);
            }
            catch (IOException e) when (e is not BadHttpRequestException)
            {
                // So Kestrel says that the size of a chunk is too large for any number.
                throw new HttpRefusal(
                    StatusCodes.Status400BadRequest, RpcStatusCode.InvalidArgument,
                    $"The body cannot be read: {e.Message}");
            }

            if (result.Buffer.Length > maxBytes || !memory.TryHold(result.Buffer.Length))
            {
                // Kestrel receives the rest, so that a client that still sends gets the answer.
                long length = result.Buffer.Length;
                reader.AdvanceTo(result.Buffer.End);
                throw length > maxBytes ? TooLarge(maxBytes) : memory.Full();
            }

            if (result.IsCompleted)
            {
                return new RequestBody(result.Buffer, reader, inflated: null);
            }

            reader.AdvanceTo(result.Buffer.Start, result.Buffer.End);
        }
    }

    private static Decompression Decompress(Stream body, string encoding) =>
        Decompression.TryOpen(body, encoding)
        ?? throw new HttpRefusal(
            StatusCodes.Status415UnsupportedMediaType,
            RpcStatusCode.Unimplemented,
            $"The content encoding '{encoding}' is not supported; use gzip, br or none.");

    private static HttpRefusal TooLarge(int maxBytes) => new(
        StatusCodes.Status413PayloadTooLarge,
        RpcStatusCode.ResourceExhausted,
        $"The request has more than {maxBytes} bytes. Raise RpcLimits.MaxMessageBytes on the listener.");
}
