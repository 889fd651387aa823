using System.Globalization;
using System.Runtime.CompilerServices;
using Google.Protobuf;
using ProtoRpc.Messages.Binary;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Http;

namespace ProtoRpc.Client.Http;

// Creates the requests.
internal sealed partial class HttpChannel
{
    private const string Accept = "Accept";

    // Creating a Uri parses it, which takes longer than adding all headers.
    private readonly ConditionalWeakTable<RpcMethodInfo, Uri> _addresses = [];
    private readonly ConditionalWeakTable<RpcSchema, FormatOptions> _formats = [];

    private bool IsFile => _address.AbsolutePath.EndsWith(".proto/", StringComparison.OrdinalIgnoreCase);

    // A header of the body, such as Content-Type, replaces the client's own.
    private static void TryAdd(HttpRequestMessage message, string name, string value)
    {
        if (!message.Headers.TryAddWithoutValidation(name, value) && message.Content is { } content)
        {
            content.Headers.Remove(name);
            content.Headers.TryAddWithoutValidation(name, value);
        }
    }

    private string AcceptedOf(RpcMethodInfo method) => method.IsUnary ? _options.Format.MediaTypes[0]
        : HttpStreamFormat.Of(_options.Format).MediaTypes[0];

    private Uri AddressOf(RpcMethodInfo method) => _addresses.TryGetValue(method, out Uri? address)
        ? address
        : _addresses.GetValue(method, NewAddress);

    // If the endpoint is the address of a file, its methods are below it; otherwise below their services.
    private Uri NewAddress(RpcMethodInfo method) => Below(
        IsFile
            ? method.Name
            : $"{method.Service.FullName}/{method.Name}");

    // Every request has the query of the endpoint, such as '?api-version=2'.
    private Uri Below(string path) => new(_address, path + _query);

    private FormatOptions FormatOf(RpcMethodInfo method) =>
        _formats.TryGetValue(method.Service.Schema, out FormatOptions? known)
            ? known
            : _formats.GetValue(method.Service.Schema, schema => _format with { Schema = schema });

    private HttpMessageContent Body(CallSpec call, IMessage request)
    {
        HttpBody body = call.Kept is { } kept ? Keep(kept, call, request) : Encode(call, request);
        try
        {
            if (call.Options?.Response is { } info)
            {
                info.BytesSent += body.PlainLength;
            }

            return new HttpMessageContent(body, _options.Format.MediaType);
        }
        finally
        {
            if (call.Kept is null)
            {
                body.Dispose();
            }
        }
    }

    private HttpBody Keep(KeptRequest kept, CallSpec call, IMessage request) =>
        KeptRequest.Of(kept, () => Encode(call, request));

    private HttpBody Encode(CallSpec call, IMessage request)
    {
        MessageFormat format = _options.Format;
        PooledMessageBytes bytes = new(_limits.MaxMessageBytes, "request");
        try
        {
            if (ReferenceEquals(format, MessageFormats.Binary))
            {
                using EncodedMessage body = EncodedMessage.Of(request, _limits.MaxMessageBytes, "request");
                body.WriteTo(bytes);
            }
            else
            {
                format.WriteChecked(request, bytes, FormatOf(call.Method));
            }

            return new HttpBody(bytes, call.Options?.Compression ?? _options.Compression);
        }
        catch
        {
            bytes.Dispose();
            throw;
        }
    }

    private HttpRequestMessage Request(CallSpec call, HttpContent content)
    {
        HttpRequestMessage message = new(HttpMethod.Post, AddressOf(call.Method)) { Content = content };
        try
        {
            AddHeaders(message, call);
            return message;
        }
        catch
        {
            message.Dispose();
            throw;
        }
    }

    private void AddHeaders(HttpRequestMessage message, CallSpec call)
    {
        if (!call.Clock.IsEndless)
        {
            long milliseconds = (long)Math.Clamp(call.Clock.Left.TotalMilliseconds, 1, int.MaxValue);
            message.Headers.TryAddWithoutValidation(
                HttpNames.Timeout, milliseconds.ToString(CultureInfo.InvariantCulture));
        }

        RpcCallContext context = CallSideChannel.Of(this, call.Options);
        if (context.CalculateSize() > 0)
        {
            message.Headers.TryAddWithoutValidation(
                HttpNames.CallContext, Convert.ToBase64String(context.ToByteArray()));
        }

        if (!call.Method.IsUnary)
        {
            message.Headers.TryAddWithoutValidation(HttpNames.AcceptTrailers, "body");
        }

        AddHeaders(message, _options.Headers);
        if (call.Options?.Headers is { } ofCall)
        {
            AddHeaders(message, ofCall);
        }

        if (!message.Headers.NonValidated.Contains(Accept))
        {
            message.Headers.TryAddWithoutValidation(Accept, AcceptedOf(call.Method));
        }
    }

    private static void AddHeaders(HttpRequestMessage message, RpcMetadata headers)
    {
        if (headers.Count == 0)
        {
            return;
        }

        foreach ((string name, object value) in headers)
        {
            if (HttpNames.IsFraming(name))
            {
                throw new RpcException(
                    RpcStatusCode.InvalidArgument,
                    $"The header '{name}' cannot be sent: the protocol reserves this name. Use another one.")
                {
                    ErrorId = RpcErrorIds.InvalidHeader,
                };
            }

            TryAdd(message, name, value as string ?? Convert.ToBase64String((byte[])value));
        }
    }
}
