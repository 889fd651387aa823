using System.Buffers.Binary;
using System.Text;

namespace ProtoRpc.Conformance;

/// <summary>Answers conformance requests: reads a payload in one format, and writes it in another.</summary>
public sealed class Testee
{
    private readonly RpcSchema _schema;
    private readonly RpcMessageInfo _request;
    private readonly RpcMessageInfo _response;

    /// <param name="schema">Has conformance.proto and the messages that requests name.</param>
    public Testee(RpcSchema schema)
    {
        _schema = schema;
        _request = schema.GetMessage("conformance.ConformanceRequest");
        _response = schema.GetMessage("conformance.ConformanceResponse");
    }

    /// <summary>Answers each request, a length of four bytes and a message,
    /// until there are no more.</summary>
    public void Run(Stream input, Stream output)
    {
        byte[] length = new byte[sizeof(int)];
        while (input.ReadAtLeast(length, sizeof(int), throwOnEndOfStream: false) == sizeof(int))
        {
            byte[] request = new byte[BinaryPrimitives.ReadInt32LittleEndian(length)];
            input.ReadExactly(request);
            byte[] response = Answer(request);
            BinaryPrimitives.WriteInt32LittleEndian(length, response.Length);
            output.Write(length);
            output.Write(response);
            output.Flush();
        }
    }

    /// <summary>The answer to one request.</summary>
    public byte[] Answer(byte[] request)
    {
        DynamicMessage response = new(_response);
        string field;
        object value;
        try
        {
            (field, value) = AnswerOf(DynamicMessage.Parse(_request, request.AsSpan()));
        }
        catch (Exception e) when (e is not RpcException)
        {
            // A failure of ours, which the runner is to show, not an answer to the payload.
            (field, value) = ("runtime_error", e.ToString());
        }
        response.Set(_response.FindField(field)!, value);
        return response.ToByteArray();
    }

    private (string Field, object Value) AnswerOf(DynamicMessage request)
    {
        string typeName = (string)Get(request, "message_type")!;
        if (typeName == "conformance.FailureSet")
        {
            // The runner asks for known failures; there are none.
            return ("protobuf_payload", Array.Empty<byte>());
        }
        if (_schema.FindMessage(typeName) is not { } type)
        {
            return ("skipped", $"The schema has no message '{typeName}'.");
        }
        if (FormatOf(request) is not var (format, payload))
        {
            return ("skipped", "The format of the payload is not known.");
        }

        FormatOptions options = new()
        {
            IgnoreUnknownFields = NameOf(request, "test_category") == "JSON_IGNORE_UNKNOWN_PARSING_TEST",
            PrintUnknownFields = Get(request, "print_unknown_fields") is true,
        };
        DynamicMessage message;
        try
        {
            message = format.Read(type, payload, options);
        }
        catch (RpcException e)
        {
            return ("parse_error", e.Message);
        }

        try
        {
            return NameOf(request, "requested_output_format") switch
            {
                "PROTOBUF" => ("protobuf_payload", MessageFormats.Binary.ToArray(message, options)),
                "JSON" => ("json_payload", MessageFormats.Json.ToText(message, options)),
                "TEXT_FORMAT" => ("text_payload", MessageFormats.Text.ToText(message, options)),
                string other => ("skipped", $"The format {other} is not written."),
            };
        }
        catch (RpcException e)
        {
            return ("serialize_error", e.Message);
        }
    }

    private static (MessageFormat Format, byte[] Payload)? FormatOf(DynamicMessage request)
    {
        (string Field, MessageFormat Format)[] known =
        [
            ("protobuf_payload", MessageFormats.Binary),
            ("json_payload", MessageFormats.Json),
            ("text_payload", MessageFormats.Text),
        ];
        foreach ((string field, MessageFormat format) in known)
        {
            if (request.Has(request.Type.FindField(field)!))
            {
                object payload = Get(request, field)!;
                return (format, payload as byte[] ?? Encoding.UTF8.GetBytes((string)payload));
            }
        }
        return null;
    }

    private static object? Get(DynamicMessage message, string field) =>
        message.Get(message.Type.FindField(field)!);

    private static string NameOf(DynamicMessage message, string field) =>
        message.Type.FindField(field)!.EnumType!.FindName((int)Get(message, field)!) ?? "";
}
