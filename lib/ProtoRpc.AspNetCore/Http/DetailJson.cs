using System.Text.Json;
using Google.Protobuf.WellKnownTypes;

namespace ProtoRpc.AspNetCore.Http;

/// <summary>Writes the details of a failure as JSON in addition to their bytes, for people and for clients
/// without their types. The Connect protocol calls this <c>debug</c>.</summary>
/// <remarks>Details that are long, or deeply nested, have bytes only: the failure must fit into a
/// reply.</remarks>
internal sealed class DetailJson(RpcLimits limits)
{
    private const int MaxBytes = 16 * 1024;
    private const int MaxDepth = 16;

    // All details together use a small part of the reply. One level of JSON can be several levels of a
    // message.
    private const int PartOfReply = 16;
    private const int LevelsOfMessage = 4;

    private readonly JsonDocumentOptions _nesting =
        new() { MaxDepth = Math.Min(MaxDepth, limits.MaxDepth / LevelsOfMessage) };

    private int _room = limits.MaxDepth < MaxDepth
        ? 0
        : Math.Min(MaxBytes, limits.MaxMessageBytes / PartOfReply);

    /// <summary>The JSON of the next detail; null for one without.</summary>
    public string? Next(IMessage detail)
    {
        if (detail.Descriptor.FullName == Any.Descriptor.FullName)
        {
            // An Any has no JSON, because its type is unknown here.
            return null;
        }

        try
        {
            _room -= detail.CalculateSize();
            if (_room < 0)
            {
                return null;
            }

            string text = MessageFormats.Json.ToText(detail);
            using JsonDocument json = JsonDocument.Parse(text, _nesting);
            return text;
        }
        catch (Exception e) when (e is RpcException or JsonException)
        {
            // The detail is nested too deeply, or it has no JSON.
            return null;
        }
    }
}
