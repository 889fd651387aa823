using System.Text;
using Google.Protobuf;
using Google.Protobuf.Reflection;
using ProtoRpc.Fuzz.Engine;
using ProtoRpc.Fuzz.Inputs;

namespace ProtoRpc.Fuzz.Targets;

/// <summary>Google.Protobuf's word on ProtoJSON. An input is JSON, or a message in binary where the first
/// byte is 128 or more.</summary>
internal sealed class JsonPeerTarget : FuzzTarget
{
    private const byte Binary = 0x80;

    private static readonly FormatOptions Strict = new() { Schema = GeneratedTypes.Schema };
    private static readonly FormatOptions Known = new() { PrintUnknownFields = false };
    private static readonly FormatOptions Expanded = Strict with
    {
        PrintUnknownFields = false,
        ExpandAny = true,
    };
    private static readonly FormatOptions Loose = Strict with { IgnoreUnknownFields = true };

    public override string Name => "json-peer";

    public override string Promise => "Google.Protobuf reads and writes the same messages, or the difference "
        + "is judged; dynamic and generated messages are the same";

    public override IMutator Mutator { get; } = new JsonMutator();

    public override int? BytesPerByte => 2048;

    public override int FixedBytes => 256 * 1024;

    public override IEnumerable<byte[]> Seeds()
    {
        // A case of each difference, so that no row of the table is an idle one.
        foreach ((string type, string json) in JsonDifference.Cases)
        {
            int index = GeneratedTypes.IndexOf(type);
            yield return [(byte)index, .. Encoding.UTF8.GetBytes(json)];
        }

        foreach (IMessage message in JsonDifference.Written)
        {
            int index = GeneratedTypes.IndexOf(message.Descriptor.Name);
            yield return [(byte)(Binary + index), .. message.ToByteArray()];
        }

        // A class does not write it.
        yield return
            [(byte)GeneratedTypes.IndexOf("Singular"), .. Encoding.UTF8.GetBytes("""{"fFloat":-0}""")];

        Random random = new(11);
        for (int type = 0; type < GeneratedTypes.All.Count; type++)
        {
            for (int i = 0; i < 4; i++)
            {
                yield return Make(random, type, isBinary: i == 0);
            }
        }
    }

    public override byte[] Generate(Random random) =>
        Make(random, random.Next(GeneratedTypes.All.Count), isBinary: random.Next(8) == 0);

    public override bool Run(byte[] input, Meter meter)
    {
        bool isBinary = input.Length > 0 && input[0] >= Binary;
        (RpcMessageInfo type, MessageDescriptor descriptor) =
            GeneratedTypes.Of(isBinary ? [(byte)(input[0] - Binary)] : input);
        byte[] body = MessageTypes.BodyOf(input);
        if (isBinary)
        {
            return Writes(type, descriptor, body);
        }

        bool isRead = Reads(type, descriptor, body, Strict, meter);
        bool isReadLoosely = Reads(type, descriptor, body, Loose, meter);
        return isRead || isReadLoosely;
    }

    public override void Dispose()
    {
        foreach (JsonDifference difference in (JsonDifference[])
        [
            .. JsonDifference.OnlyTheyRead, .. JsonDifference.OnlyWeRead,
            .. JsonDifference.OnlyTheyWrite, .. JsonDifference.OnlyWeWrite,
        ])
        {
            Console.WriteLine($"{difference.Count,9:N0} {difference.Reason}");
        }

        foreach (JsonReading reading in JsonReading.All)
        {
            Console.WriteLine($"{reading.Count,9:N0} {reading.Reason}");
        }
    }

    private static byte[] Make(Random random, int type, bool isBinary) => isBinary
        ? [(byte)(Binary + type), .. GeneratedTypes.Make(random, type).ToByteArray()]
        : [(byte)type, .. Encoding.UTF8.GetBytes(new JsonTexts(random).Make(GeneratedTypes.All[type].Type))];

    private bool Reads(
        RpcMessageInfo type, MessageDescriptor descriptor, byte[] body, FormatOptions options, Meter meter)
    {
        string text = Encoding.UTF8.GetString(body);
        string shown = $"{type.FullName} {text}";
        DynamicMessage? dynamic = null;
        IMessage? ours = GeneratedTypes.New(descriptor);
        RpcException? problem = ErrorOf(
            () => dynamic = meter.Measure(() => MessageFormats.Json.Read(type, body.AsMemory(), options)));
        RpcException? other = ErrorOf(
            () => MessageFormats.Json.Read(new(body), ours, options));
        Require(
            problem?.Message == other?.Message && problem?.ErrorId == other?.ErrorId,
            $"both readers have the same word: {shown}: {problem?.Message} or {other?.Message}");
        if (problem?.ErrorId == RpcErrorIds.TooDeep || problem?.Code == RpcStatusCode.ResourceExhausted)
        {
            // Google.Protobuf counts in another way, and overflows its stack on lists in lists.
            return false;
        }

        (IMessage? theirs, string refusal) =
            GoogleJson.Read(descriptor, body, options.IgnoreUnknownFields);
        refusal = options.IgnoreUnknownFields ? $"ignoring: {refusal}" : refusal;
        if (problem is not null)
        {
            Require(
                theirs is null
                    || JsonDifference.IsJudged(
                        JsonDifference.OnlyTheyRead, $"{problem.ErrorId}: {problem.Message}", text),
                $"Google.Protobuf refuses it: {shown}: {problem.Message}");
            return false;
        }

        Require(
            IsSame(type, ours, Generated(descriptor, dynamic!)),
            $"both readers make the same message: {shown}: {Show(type, dynamic!)} or {Show(type, ours)}");
        // Both written by the class, which leaves a -0 out where a field has no presence.
        IMessage written = descriptor.Parser.ParseFrom(dynamic!.ToByteArray());
        Require(
            All(type, written) == All(type, ours),
            $"both readers make the same message, extensions too: {shown}");
        if (theirs is null)
        {
            Require(
                JsonDifference.IsJudged(JsonDifference.OnlyWeRead, refusal, text),
                $"Google.Protobuf reads it: {shown}: {refusal}");
        }
        else
        {
            Require(
                IsSame(type, ours, theirs)
                    || JsonReading.IsJudged(JsonReading.All, Show(type, ours), Show(type, theirs)),
                $"Google.Protobuf reads the same: {shown}: {Show(type, ours)} or {Show(type, theirs)}");
        }

        Exchange(type, ours);
        return true;
    }

    private bool Writes(RpcMessageInfo type, MessageDescriptor descriptor, byte[] body)
    {
        DynamicMessage? read = null;
        if (!Accepts(
            () => read = DynamicMessage.Parse(type, body.AsSpan()),
            RpcStatusCode.InvalidArgument, RpcStatusCode.ResourceExhausted))
        {
            return false;
        }

        IMessage message;
        try
        {
            message = Generated(descriptor, read!);
        }
        // An entry of a map whose enum is closed is an unknown field with its bytes, and classes take no key
        // that is not UTF-8.
        catch (InvalidProtocolBufferException)
        {
            return false;
        }

        return Exchange(type, message);
    }

    // Each writes what the other reads.
    private static bool Exchange(RpcMessageInfo type, IMessage message)
    {
        byte[] ours = [];
        RpcException? problem = ErrorOf(() => ours = MessageFormats.Json.ToArray(message, Strict));
        (byte[]? theirs, string refusal) = GoogleJson.Write(message);
        string shown = $"{type.FullName} {Convert.ToHexString(message.ToByteArray())}";
        if (problem is null)
        {
            string text = Encoding.UTF8.GetString(ours);
            Require(
                theirs is not null
                    || JsonDifference.IsJudged(JsonDifference.OnlyWeWrite, refusal, text),
                $"Google.Protobuf writes it: {shown}: {refusal}");
            (IMessage? again, refusal) = GoogleJson.Read(message.Descriptor, ours, false);
            Require(
                again is null
                    ? JsonDifference.IsJudged(JsonDifference.OnlyWeRead, refusal, text)
                    : IsAlike(type, again, message)
                        || JsonReading.IsJudged(
                            JsonReading.Written, NullsOf(type, message), NullsOf(type, again)),
                $"Google.Protobuf reads what we write: {shown}: {text}: {refusal}");
        }
        else if (problem.ErrorId != RpcErrorIds.TooDeep)
        {
            Require(
                theirs is null
                    || JsonDifference.IsJudged(
                        JsonDifference.OnlyTheyWrite, $"{problem.ErrorId}: {problem.Message}", shown),
                $"Google.Protobuf does not write it: {shown}: {problem.Message}");
        }

        if (theirs is not null && problem is null)
        {
            string text = Encoding.UTF8.GetString(theirs);
            IMessage again = GeneratedTypes.New(message.Descriptor);
            RpcException? error = ErrorOf(() => MessageFormats.Json.Read(new(theirs), again, Strict));
            Require(
                error is null
                    ? IsAlike(type, again, message)
                        || JsonReading.IsJudged(
                            JsonReading.TheyWrote, NullsOf(type, message), NullsOf(type, again))
                    : JsonDifference.IsJudged(
                        JsonDifference.OnlyTheyRead, $"{error.ErrorId}: {error.Message}", text),
                $"we read what Google.Protobuf writes: {shown}: {text}: {error?.Message}");
        }

        return problem is null;
    }

    // What was written has the nulls of JSON.
    private static bool IsAlike(RpcMessageInfo type, IMessage read, IMessage written) =>
        IsSame(type, read, written) || NullsOf(type, read) == NullsOf(type, written);

    private static string NullsOf(RpcMessageInfo type, IMessage message) =>
        Show(type, JsonNulls.Of(message));

    // There are many NaNs, and the text has one.
    private static bool IsSame(RpcMessageInfo type, IMessage one, IMessage other) =>
        one.Equals(other) || Show(type, one) == Show(type, other);

    // The bytes in an Any may have other orders and spellings.
    private static string Show(RpcMessageInfo type, IMessage message)
    {
        byte[] bytes = Generated(GeneratedTypes.ClassOf(type), message).ToByteArray();
        DynamicMessage shown = DynamicMessage.Parse(type, bytes.AsSpan());
        try
        {
            return MessageFormats.Text.ToText(shown, Expanded);
        }
        catch (RpcException)
        {
            // An Any of binary has any bytes.
            return MessageFormats.Text.ToText(shown, Known);
        }
    }

    private static string All(RpcMessageInfo type, IMessage message) =>
        MessageFormats.Text.ToText(DynamicMessage.Parse(type, message.ToByteArray().AsSpan()), Strict);

    // Neither JSON nor what this compares has unknown fields.
    private static IMessage Generated(MessageDescriptor type, IMessage message) =>
        type.Parser.WithDiscardUnknownFields(true).ParseFrom(message.ToByteArray());

    private static RpcException? ErrorOf(Action read)
    {
        RpcException? error = null;
        _ = Accepts(
            () =>
            {
                try
                {
                    read();
                }
                catch (RpcException e)
                {
                    error = e;
                    throw;
                }
            },
            RpcStatusCode.InvalidArgument, RpcStatusCode.ResourceExhausted);
        return error;
    }
}
