using System.Buffers;
using System.Text;
using System.Text.Encodings.Web;
using System.Text.Json;
using Google.Protobuf;
using ProtoRpc.Protocols.Grpc;

namespace ProtoRpc.Server.Recording;

/// <summary>Makes a line of JSON of a call. Used by one thread.</summary>
/// <param name="mask">The fields that are not written.</param>
internal sealed class RecordLine(MessageMask mask)
{
    private const int MinSecretLength = 3;
    private const string Hidden = MessageMask.Hidden;

    private static readonly JsonWriterOptions Writing = new()
    {
        Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping,
        SkipValidation = true,
    };

    private readonly ArrayBufferWriter<byte> _line = new();
    private readonly ArrayBufferWriter<byte> _message = new();

    /// <summary>The line with its end, valid until the next one.</summary>
    public ReadOnlySpan<byte> Write(RpcRecordedCall call)
    {
        _line.ResetWrittenCount();
        using (Utf8JsonWriter json = new(_line, Writing))
        {
            Write(json, call);
        }

        _line.Write("\n"u8);
        return _line.WrittenSpan;
    }

    private void Write(Utf8JsonWriter json, RpcRecordedCall call)
    {
        HashSet<string> hidden = [.. call.Secrets];
        json.WriteStartObject();
        json.WriteString(RecordNames.Time, call.Time.UtcDateTime);
        json.WriteString(RecordNames.Method, call.Method.FullName);
        json.WriteString(RecordNames.Peer, call.Peer);
        json.WriteString(RecordNames.User, call.User);
        Write(
            json, call.Requests, call.Method.IsClientStreaming, RecordNames.Request, RecordNames.Requests,
            hidden);
        Write(
            json, call.Replies, call.Method.IsServerStreaming, RecordNames.Reply, RecordNames.Replies,
            hidden);
        json.WriteString(RecordNames.Status, (call.Status ?? RpcStatusCode.Unknown).ToString());
        if (call.Status != RpcStatusCode.OK)
        {
            WriteFailure(json, call, hidden);
        }

        json.WriteNumber(
            RecordNames.Milliseconds, Math.Round((call.Duration ?? TimeSpan.Zero).TotalMilliseconds, 3));
        WriteMarks(json, call);
        json.WriteEndObject();
    }

    private void WriteMarks(Utf8JsonWriter json, RpcRecordedCall call)
    {
        if (mask.Names.Count > 0)
        {
            json.WriteStartArray(RecordNames.Mask);
            foreach (string name in mask.Names)
            {
                json.WriteStringValue(name);
            }

            json.WriteEndArray();
        }

        if (call.IsTruncated)
        {
            json.WriteBoolean(RecordNames.Truncated, true);
        }
    }

    private void WriteFailure(Utf8JsonWriter json, RpcRecordedCall call, HashSet<string> hidden)
    {
        List<DynamicMessage> details = [.. call.Details.Select(detail => ToDynamic(detail, call.Method))
            .OfType<DynamicMessage>()];
        details.ForEach(detail => mask.Apply(detail, hidden));
        string[] secrets =
        [
            .. hidden.Where(secret => secret.Length >= MinSecretLength)
                .OrderByDescending(secret => secret.Length),
        ];
        string text = call.Message;
        foreach (string secret in secrets)
        {
            // The text has no control characters, and a password may have some.
            text = text.Replace(secret, Hidden, StringComparison.Ordinal)
                .Replace(TerminalText.Neutralize(secret), Hidden, StringComparison.Ordinal);
        }

        json.WriteString(RecordNames.Message, text);

        // The handler may have copied a masked value into a text of a detail.
        details.RemoveAll(detail => Array.Exists(secrets, secret => Contains(detail, secret)));
        if (details.Count == 0)
        {
            return;
        }

        json.WriteStartArray(RecordNames.Details);
        foreach (DynamicMessage detail in details)
        {
            json.WriteStartObject();
            json.WriteString(RecordNames.Type, detail.Type.FullName);
            json.WritePropertyName(RecordNames.Value);
            WriteMessage(json, detail);
            json.WriteEndObject();
        }

        json.WriteEndArray();
    }

    private void Write(
        Utf8JsonWriter json, IReadOnlyList<DynamicMessage> messages, bool isStream, string one, string many,
        HashSet<string> hidden)
    {
        if (isStream)
        {
            json.WriteStartArray(many);
        }
        else if (messages.Count == 0)
        {
            return;
        }
        else
        {
            json.WritePropertyName(one);
        }

        foreach (DynamicMessage message in messages)
        {
            mask.Apply(message, hidden);
            WriteMessage(json, message);
        }

        if (isStream)
        {
            json.WriteEndArray();
        }
    }

    private void WriteMessage(Utf8JsonWriter json, DynamicMessage message)
    {
        _message.ResetWrittenCount();
        try
        {
            MessageFormats.Json.Write(message, _message);
            json.WriteRawValue(_message.WrittenSpan, skipInputValidation: true);
        }
        catch (RpcException e)
        {
            // Such as a Timestamp that is out of range.
            json.WriteStartObject();
            if (mask.Names.Count == 0)
            {
                json.WriteBase64String(RecordNames.Binary, message.ToByteArray());
            }
            else
            {
                json.WriteString(RecordNames.Unwritable, e.ErrorId);
            }

            json.WriteEndObject();
        }
    }

    private static bool Contains(DynamicMessage message, string text) =>
        message.ToByteArray().AsSpan().IndexOf(Encoding.UTF8.GetBytes(text)) >= 0;

    private static DynamicMessage? ToDynamic(IMessage detail, RpcMethodInfo method)
    {
        string name = detail.Descriptor.FullName;
        if ((GrpcStatusDetails.Schema.FindMessage(name) ?? method.RequestType.Schema.FindMessage(name))
            is not { } type)
        {
            return null;
        }

        DynamicMessage copy = new(type);
        copy.MergeFrom(detail.ToByteArray());
        return copy;
    }
}
