using System.Text.Json;
using System.Text.Json.Nodes;

namespace ProtoRpc.Endpoints;

/// <summary>What the file of named endpoints holds, with all that this version does not know.</summary>
internal sealed class EndpointContent
{
    /// <summary>The version of the file that is written.</summary>
    public const int Version = 1;

    private const string VersionKey = "version";
    private const string EndpointsKey = "endpoints";
    private const int MaxDepth = 32;

    private readonly string _path;
    private readonly JsonObject _root;
    private readonly JsonObject _entries;

    private EndpointContent(string path, JsonObject root, JsonObject entries)
    {
        _path = path;
        _root = root;
        _entries = entries;
    }

    /// <summary>The endpoints.</summary>
    /// <exception cref="RpcException">FailedPrecondition: an entry is wrong.</exception>
    public IReadOnlyList<RpcNamedEndpoint> Endpoints =>
        [.. _entries.Select(entry => EndpointEntry.Read(_path, entry.Key, entry.Value))];

    /// <summary>The content of a file that does not exist yet.</summary>
    public static EndpointContent Empty(string path)
    {
        JsonObject entries = [];
        return new(path, new JsonObject { [VersionKey] = Version, [EndpointsKey] = entries }, entries);
    }

    /// <summary>Reads a file's bytes.</summary>
    /// <exception cref="RpcException">FailedPrecondition: damaged, or of a newer version.</exception>
    public static EndpointContent Parse(string path, ReadOnlySpan<byte> bytes)
    {
        JsonObject root = ParseJson(path, bytes);
        int version = root[VersionKey] is JsonValue value && value.TryGetValue(out int number) ? number : 0;
        if (version is < 1 or > Version)
        {
            throw Damaged(
                path,
                version > Version
                    ? $"it has version {version}, and this ProtoRpc reads versions up to {Version}. "
                    + "Update ProtoRpc"
                    : $"it has no '{VersionKey}': {Version}");
        }

        if (root[EndpointsKey] is not JsonObject entries)
        {
            throw Damaged(path, $"it has no object '{EndpointsKey}'");
        }

        return entries.GroupBy(entry => entry.Key, StringComparer.OrdinalIgnoreCase)
            .FirstOrDefault(group => group.Skip(1).Any()) is { } twice
            ? throw Damaged(path, $"it has the name '{twice.Key}' twice")
            : new EndpointContent(path, root, entries);
    }

    /// <summary>Why a file cannot be read.</summary>
    public static RpcException Damaged(string path, string why, Exception? cause = null) => new(
        RpcStatusCode.FailedPrecondition,
        TerminalText.Neutralize($"The file of named endpoints '{path}' cannot be read: {why}."), cause)
    {
        ErrorId = RpcErrorIds.InvalidEndpointFile,
    };

    /// <summary>Removes an entry.</summary>
    /// <returns>The entry; null if the name is unknown.</returns>
    public JsonObject? Remove(string name)
    {
        string? key = _entries.Select(entry => entry.Key)
            .FirstOrDefault(key => key.Equals(name, StringComparison.OrdinalIgnoreCase));
        JsonNode? old = key is null ? null : _entries[key];
        if (key is not null)
        {
            _entries.Remove(key);
        }

        return key is null ? null : old as JsonObject ?? [];
    }

    /// <summary>Adds an entry, with what an older one had beyond what this version knows.</summary>
    public void Add(RpcNamedEndpoint endpoint, JsonObject? older) =>
        _entries[endpoint.Name] = EndpointEntry.Write(endpoint, older);

    /// <summary>The bytes of the file.</summary>
    public byte[] ToBytes()
    {
        using MemoryStream bytes = new();
        using (Utf8JsonWriter writer = new(bytes, new JsonWriterOptions { Indented = true, NewLine = "\n" }))
        {
            _root.WriteTo(writer);
        }

        bytes.WriteByte((byte)'\n');
        return bytes.ToArray();
    }

    private static JsonObject ParseJson(string path, ReadOnlySpan<byte> bytes)
    {
        try
        {
            // Editors of Windows begin a file with a mark.
            ReadOnlySpan<byte> mark = [0xEF, 0xBB, 0xBF];
            JsonNode? root = JsonNode.Parse(
                bytes.StartsWith(mark) ? bytes[mark.Length..] : bytes,
                documentOptions: new() { MaxDepth = MaxDepth, AllowDuplicateProperties = false });
            return root as JsonObject
                ?? throw Damaged(path, "it is not a JSON object");
        }
        catch (JsonException e)
        {
            string where = e.LineNumber is { } line
                ? $"line {line + 1}, column {e.BytePositionInLine + 1}: "
                : "";
            string text = e.Message.Split(" LineNumber:")[0].TrimEnd('.');
            throw Damaged(path, $"{where}{text}", e);
        }
    }
}
