using System.Text.Json;
using ProtoRpc.Tests.Messages;

namespace ProtoRpc.Interop;

/// <summary>Python's protobuf decides what JSON and text mean: random messages, both ways.</summary>
public sealed class PythonFormatTests : IDisposable
{
    private const int MessagesPerType = 15;

    // Python takes the shortest text of the largest float for more than it.
    private const string LargestFloat = "3.4028235E+38";

    private const string WellKnown = """
        {"any":{"@type":"type.googleapis.com/everything.proto3.Leaf","text":"in"},"duration":"-1.500s",
        "empty":{},"fieldMask":"a.bC,d","struct":{"a":[1,null,{"b":true,"c":"x"}]},"value":null,
        "listValue":["x",-0.5],"timestamp":"2024-02-29T12:30:00.000000001Z",
        "int64Value":"-9","boolValue":false,"stringValue":"",
        "bytesValue":"AA==","anys":[{"@type":"type.googleapis.com/google.protobuf.Duration","value":"3s"}],
        "values":[null,1],"stringValueByName":{"k":"v"}}
        """;

    private static readonly string[] Types =
    [
        "proto2.Singular", "proto2.Defaults", "proto2.Repeated", "proto2.Packed", "proto2.Maps",
        "proto2.Choice",
        "proto2.Required", "proto2.Extendable", "proto3.Singular", "proto3.Optional", "proto3.Repeated",
        "proto3.Unpacked", "proto3.Maps", "proto3.Choice", "proto3.Names",
    ];

    private readonly string _descriptors = Path.GetTempFileName();
    private readonly RpcSchema _schema;

    public PythonFormatTests()
    {
        string folder = Path.Combine(AppContext.BaseDirectory, "everything");
        _schema = RpcSchema.Load(
            [Path.Combine(folder, "everything_proto2.proto"),
                Path.Combine(folder, "everything_proto3.proto")]);
        File.WriteAllBytes(_descriptors, _schema.ToDescriptorSet());
    }

    public void Dispose() => File.Delete(_descriptors);

    [PeerFact(Peer.PythonProtobuf)]
    public async Task Python_and_we_read_each_others_json()
    {
        using PeerProcess python = StartPython();
        foreach (DynamicMessage message in RandomOnes(1))
        {
            if (message.ToString().Contains("[everything."))
            {
                // Python does not know its own name for a repeated extension in JSON.
                continue;
            }
            AssertSame(message, MessageFormats.Json.Read(
                message.Type, await ConvertAsync(python, message.Type, "binary", "json", Base64(message))));

            string json = MessageFormats.Json.ToText(message);
            if (!json.Contains(LargestFloat))
            {
                AssertSame(message, Parse(
                    message.Type, await ConvertAsync(python, message.Type, "json", "binary", json)));
            }
        }
    }

    [PeerFact(Peer.PythonProtobuf)]
    public async Task Python_and_we_read_each_others_text()
    {
        using PeerProcess python = StartPython();
        foreach (DynamicMessage message in RandomOnes(2))
        {
            DynamicMessage read = MessageFormats.Text.Read(
                message.Type, await ConvertAsync(python, message.Type, "binary", "text", Base64(message)));
            AssertSame(message, read);

            AssertSame(message, Parse(message.Type, await ConvertAsync(
                python, message.Type, "text", "binary", MessageFormats.Text.ToText(message))));
        }
    }

    [PeerFact(Peer.PythonProtobuf)]
    public async Task The_well_known_types_are_the_same_to_both()
    {
        using PeerProcess python = StartPython();
        RpcMessageInfo type = _schema.GetMessage("everything.proto3.WellKnown");
        DynamicMessage ours = MessageFormats.Json.Read(type, WellKnown);

        DynamicMessage theirs = Parse(type, await ConvertAsync(python, type, "json", "binary", WellKnown));
        string theirJson = await ConvertAsync(python, type, "binary", "json", Base64(ours));
        string theirText = await ConvertAsync(python, type, "binary", "text", Base64(ours));
        string expanded = MessageFormats.Text.ToText(ours, new() { ExpandAny = true });

        AssertSame(ours, theirs);
        AssertSame(ours, MessageFormats.Json.Read(type, theirJson));
        AssertSame(ours, MessageFormats.Text.Read(type, theirText));
        AssertSame(ours, Parse(type, await ConvertAsync(python, type, "text", "binary", expanded)));
    }

    private PeerProcess StartPython() => PeerProcess.Start(
        Peers.Python, Path.Combine(AppContext.BaseDirectory, "python", "formats.py"), _descriptors);

    private IEnumerable<DynamicMessage> RandomOnes(int seed)
    {
        RandomMessages random = new(seed);
        foreach (string type in Types)
        {
            for (int i = 0; i < MessagesPerType; i++)
            {
                DynamicMessage message = random.Make(_schema.GetMessage("everything." + type));
                if (message.Type.FindField("nothing") is { } nothing && message.Has(nothing))
                {
                    // The enum of null has one number in JSON, whatever it holds.
                    message.Set(nothing, 0);
                }
                yield return message;
            }
        }
    }

    private static async Task<string> ConvertAsync(
        PeerProcess python, RpcMessageInfo type, string from, string to, string data)
    {
        python.WriteLine(JsonSerializer.Serialize(new { type = type.FullName, from, to, data }));
        using JsonDocument answer = JsonDocument.Parse(await python.ReadLineAsync());
        return answer.RootElement.TryGetProperty("data", out JsonElement converted)
            ? converted.GetString()!
            : throw new InvalidOperationException($"{answer.RootElement.GetProperty("error")} from {data}");
    }

    private static string Base64(DynamicMessage message) => Convert.ToBase64String(message.ToByteArray());

    private static DynamicMessage Parse(RpcMessageInfo type, string base64) =>
        DynamicMessage.Parse(type, Convert.FromBase64String(base64).AsSpan());

    private static void AssertSame(DynamicMessage expected, DynamicMessage actual) =>
        Assert.True(expected.Equals(actual), $"{expected.Type}: {expected}\nread as\n{actual}");
}
