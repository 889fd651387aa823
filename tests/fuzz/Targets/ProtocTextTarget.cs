using System.Text;
using System.Text.RegularExpressions;
using ProtoRpc.Fuzz.Inputs;

namespace ProtoRpc.Fuzz.Targets;

/// <summary>protoc's word on texts. An input is a list of them, each ends with a zero.</summary>
internal sealed partial class ProtocTextTarget : ProtocVerdictTarget
{
    private const int PerInput = 4;

    public override string Name => "protoc-text";

    public override string Promise => "protoc --encode accepts the same texts and makes the same messages";

    public override IMutator Mutator { get; } = new TextMutator(
        "{", "}", "<", ">", "[", "]", "\\x", "\\777", "\\u", "\\U0010FFFF", "0x1", "01", "-", "inf", "nan",
        "1.5f",
        "# c\n", "[type.googleapis.com/", "key:", "value:", "\"", "1:", "9: 1 ", "\\0", "'a' 'b'", ": ", " ");

    public override int MaxLength => 8 * 1024;

    public override IEnumerable<byte[]> Seeds()
    {
        for (int type = 0; type < MessageTypes.All.Count; type++)
        {
            if (Protoc.Knows(MessageTypes.All[type]))
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

    protected override IEnumerable<byte[]> Split(byte[] body)
    {
        while (body.Length > 0)
        {
            int end = Array.IndexOf(body, (byte)0);
            yield return end < 0 ? body : body[..end];
            body = end < 0 ? [] : body[(end + 1)..];
        }
    }

    protected override DynamicMessage Parse(RpcMessageInfo type, byte[] one) =>
        MessageFormats.Text.Read(type, one.AsMemory(), FormatOptions.Default);

    protected override bool AcceptsAll(
        RpcMessageInfo type, IReadOnlyList<byte[]> accepted, IReadOnlyList<DynamicMessage> messages)
    {
        (bool isValid, byte[] bytes) = Protoc.EncodeAll(type, accepted);
        if (!isValid)
        {
            return false;
        }

        List<WireField> items = WireField.Split(bytes);
        for (int i = 0; i < messages.Count; i++)
        {
            Require(
                IsSame(messages[i], DynamicMessage.Parse(type, items[i].Value.AsSpan())),
                $"protoc makes the same message: {type.FullName} {Show(accepted[i])}");
        }

        return true;
    }

    protected override bool Accepts(RpcMessageInfo type, byte[] one) => Protoc.Encodes(type, one);

    protected override string Show(byte[] one) => Encoding.UTF8.GetString(one);

    // Of missing required fields protoc only warns, its texts may be of any depth, and of an octal escape
    // that is no byte it takes eight bits. With --encode it does not check that strings are UTF-8; what it
    // makes of them, its own --decode refuses.
    protected override bool IsOurs(RpcException error) =>
        error.ErrorId is RpcErrorIds.TooDeep or RpcErrorIds.MissingRequiredField
        || error.Message.Contains("not valid UTF-8", StringComparison.Ordinal)
        || error.Message.Contains("more than \\377", StringComparison.Ordinal);

    private static bool IsSame(DynamicMessage one, DynamicMessage other) =>
        one.Equals(other) || NaNs().IsMatch(one.ToString());

    // A value and not a part of a text or a name. There are many NaNs, and protoc writes another one.
    [GeneratedRegex(@"[:\[,]\s*-?nan\b", RegexOptions.IgnoreCase)]
    private static partial Regex NaNs();
}
