using System.Globalization;
using System.Text.Json;

namespace ProtoRpc.Tests.Protocols.Dce;

/// <summary>A recorded message: its bytes, and what they mean.</summary>
internal sealed class WireVector
{
    private const string Folder = "vectors/";

    private WireVector(JsonElement root)
    {
        Bytes = Convert.FromHexString(root.GetProperty("bytes_hex").GetString()!);
        Fields = root.GetProperty("fields");
        int[] lengths = root.TryGetProperty("pdu_lengths", out JsonElement several)
            ? [.. several.EnumerateArray().Select(e => e.GetInt32())]
            : [Bytes.Length];
        int start = 0;
        foreach (int length in lengths)
        {
            Pdus.Add(Bytes[start..(start + length)]);
            start += length;
        }
    }

    public static TheoryData<string> Names => [.. AllNames];

    public static IEnumerable<string> AllNames => typeof(WireVector).Assembly.GetManifestResourceNames()
        .Where(name => name.StartsWith(Folder, StringComparison.Ordinal))
        .Select(name => Path.GetFileNameWithoutExtension(name[Folder.Length..]))
        .Order(StringComparer.Ordinal);

    public byte[] Bytes { get; }

    public List<byte[]> Pdus { get; } = [];

    public JsonElement Fields { get; }

    /// <summary>The fields of each PDU.</summary>
    public IEnumerable<JsonElement> PduFields =>
        Fields.TryGetProperty("pdus", out JsonElement pdus) ? pdus.EnumerateArray() : [Fields];

    public static WireVector Load(string name)
    {
        using Stream stream = typeof(WireVector).Assembly.GetManifestResourceStream($"{Folder}{name}.json")
            ?? throw new FileNotFoundException($"No vector '{name}'.");
        using JsonDocument document = JsonDocument.Parse(stream);
        return new WireVector(document.RootElement.Clone());
    }

    /// <summary>A number as the vectors have it: plain, or as hexadecimal text.</summary>
    public static uint Number(JsonElement element) => element.ValueKind == JsonValueKind.Number
        ? element.GetUInt32()
        : uint.Parse(element.GetString()!.AsSpan(2), NumberStyles.HexNumber, CultureInfo.InvariantCulture);
}
