using System.Text;
using System.Text.RegularExpressions;
using ProtoRpc.Fuzz.Engine;
using ProtoRpc.Fuzz.Inputs;

namespace ProtoRpc.Fuzz.Targets;

/// <summary>protoc's word on texts. An input is a list of them, each ends with a zero.</summary>
internal sealed partial class ProtocTextTarget : FuzzTarget
{
    private const int Most = 24;
    private const int MostRefused = 3;
    private const int PerInput = 4;

    private readonly Lazy<Protoc> _protoc = new(() => new Protoc());

    public override string Name => "protoc-text";

    public override string Promise => "protoc --encode accepts the same texts and makes the same messages";

    public override bool IsGuided => false;

    public override IMutator Mutator { get; } = new TextMutator(
        "{", "}", "<", ">", "[", "]", "\\x", "\\777", "\\u", "\\U0010FFFF", "0x1", "01", "-", "inf", "nan",
        "1.5f",
        "# c\n", "[type.googleapis.com/", "key:", "value:", "\"", "1:", "9: 1 ", "\\0", "'a' 'b'", ": ", " ");

    public override int MaxLength => 8 * 1024;

    public override IEnumerable<byte[]> Seeds()
    {
        for (int type = 0; type < MessageTypes.All.Count; type++)
        {
            if (_protoc.Value.Knows(MessageTypes.All[type]))
            {
                Tests.Messages.RandomMessages messages = new(type);
                List<byte> input = [(byte)type];
                for (int i = 0; i < PerInput; i++)
                {
                    DynamicMessage message = messages.Make(MessageTypes.All[type]);
                    message.ClearUnknownFields();
                    input.AddRange(MessageFormats.Text.ToArray(message, FormatOptions.Default));
                    input.Add(0);
                }

                yield return [.. input];
            }
        }
    }

    public override bool Run(byte[] input, Meter meter)
    {
        RpcMessageInfo type = MessageTypes.Of(input);
        List<byte[]> accepted = [];
        List<(byte[] Bytes, string Why)> refused = [];
        List<DynamicMessage> messages = [];
        foreach (byte[] text in Split(MessageTypes.BodyOf(input)).Take(Most))
        {
            try
            {
                messages.Add(MessageFormats.Text.Read(type, text.AsMemory(), FormatOptions.Default));
                accepted.Add(text);
            }
            catch (RpcException e) when (!IsOurs(e))
            {
                refused.Add((text, e.Message));
            }
            catch (RpcException)
            {
                // protoc says nothing about it.
            }
        }

        (bool isValid, byte[] bytes) = _protoc.Value.EncodeAll(type, accepted);
        if (isValid)
        {
            List<WireField> items = WireField.Split(bytes);
            for (int i = 0; i < messages.Count; i++)
            {
                Require(
                    IsSame(messages[i], DynamicMessage.Parse(type, items[i].Value.AsSpan())),
                    $"protoc makes the same message: {type.FullName} {Encoding.UTF8.GetString(accepted[i])}");
            }
        }
        else
        {
            foreach (byte[] one in accepted)
            {
                Require(
                    _protoc.Value.Encodes(type, one),
                    $"protoc accepts it: {type.FullName} {Encoding.UTF8.GetString(one)}");
            }
        }

        foreach ((byte[] one, string why) in refused.Take(MostRefused))
        {
            Require(
                !_protoc.Value.Encodes(type, one),
                $"protoc refuses it: {type.FullName} {Encoding.UTF8.GetString(one)} {why}");
        }

        return accepted.Count > 0;
    }

    public override void Dispose()
    {
        if (_protoc.IsValueCreated)
        {
            _protoc.Value.Dispose();
        }
    }

    // Of missing required fields protoc only warns, its texts may be of any depth, and of an octal escape
    // that is no byte it takes eight bits. With --encode it does not check that strings are UTF-8; what it
    // makes of them, its own --decode refuses.
    private static bool IsOurs(RpcException e) =>
        e.ErrorId is RpcErrorIds.TooDeep or RpcErrorIds.MissingRequiredField
        || e.Message.Contains("not valid UTF-8", StringComparison.Ordinal)
        || e.Message.Contains("more than \\377", StringComparison.Ordinal);

    private static bool IsSame(DynamicMessage one, DynamicMessage other) =>
        one.Equals(other) || NaNs().IsMatch(one.ToString());

    // A value and not a part of a text or a name. There are many NaNs, and protoc writes another one.
    [GeneratedRegex(@"[:\[,]\s*-?nan\b", RegexOptions.IgnoreCase)]
    private static partial Regex NaNs();

    private static IEnumerable<byte[]> Split(byte[] bytes)
    {
        while (bytes.Length > 0)
        {
            int end = Array.IndexOf(bytes, (byte)0);
            yield return end < 0 ? bytes : bytes[..end];
            bytes = end < 0 ? [] : bytes[(end + 1)..];
        }
    }
}
