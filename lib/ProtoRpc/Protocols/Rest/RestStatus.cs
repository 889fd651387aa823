using System.Text.Json;
using ProtoRpc.Protocols.Grpc;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Http;

namespace ProtoRpc.Protocols.Rest;

/// <summary>Reads the errors of REST servers in JSON: a <c>google.rpc.Status</c>, alone as grpc-gateway and
/// JsonTranscoding write it, or as the member <c>error</c>, as Google's APIs write it.</summary>
internal static class RestStatus
{
    private const string TypeName = "@type";

    // A status has a few details; further ones are ignored.
    private const int MaxDetails = 100;

    private static readonly Dictionary<string, RpcStatusCode> Codes =
        Enum.GetValues<RpcStatusCode>().ToDictionary(NameOf, StringComparer.OrdinalIgnoreCase);

    /// <summary>Whether a number is the code of an error.</summary>
    public static bool IsCode(int code) => code > 0 && Enum.IsDefined((RpcStatusCode)code);

    /// <summary>The status for the HTTP status of a reply without a <c>google.rpc.Status</c>, by the mapping
    /// in google/rpc/code.proto. Unlike in other calls over HTTP, 404 does not mean a wrong
    /// address.</summary>
    public static RpcStatusCode OfHttpStatus(int status) => status switch
    {
        404 => RpcStatusCode.NotFound,
        409 => RpcStatusCode.Aborted,
        412 => RpcStatusCode.FailedPrecondition,
        416 => RpcStatusCode.OutOfRange,
        500 => RpcStatusCode.Internal,
        _ => RpcStatusTable.OfHttpStatus(status),
    };

    /// <summary>Reads an error.</summary>
    /// <param name="root">The body, or the last value of a stream.</param>
    /// <param name="schema">Declares the types of details, in addition to google.rpc; null for none.</param>
    /// <returns>Null if the JSON is not an error.</returns>
    public static ErrorResult? Read(JsonElement root, RpcSchema? schema)
    {
        // Google's APIs send a stream that fails before its first reply as an array with one error.
        JsonElement status = root is { ValueKind: JsonValueKind.Array } && root.GetArrayLength() == 1
            ? root[0]
            : root;
        if (status.ValueKind != JsonValueKind.Object)
        {
            return null;
        }

        if (Member(status, "error", JsonValueKind.Object) is { } inner)
        {
            status = inner;
        }

        if (CodeOf(status) is not { } code)
        {
            return TextOf(status) is { Length: > 0 } alone ? new ErrorResult { ErrorText = alone } : null;
        }

        string name = ConnectCodes.NameOf(code);
        string? text = Member(status, "message", JsonValueKind.String)?.GetString();
        ErrorResult error = new()
        {
            Code = name,
            ErrorText = string.IsNullOrEmpty(text) ? $"The call failed with {name}." : text,
        };
        if (Member(status, "details", JsonValueKind.Array) is { } details)
        {
            error.Details.AddRange(details.EnumerateArray().Take(MaxDetails)
                .Select(detail => DetailOf(detail, schema))
                .OfType<ErrorResult.Types.Detail>());
        }

        return error;
    }

    // The code is a number of google.rpc.Code, or an HTTP status next to the name of the code. The oldest
    // versions of grpc-gateway use other names in streams.
    private static RpcStatusCode? CodeOf(JsonElement status)
    {
        if (Member(status, "status", JsonValueKind.String)?.GetString() is { } name
            && Codes.TryGetValue(name, out RpcStatusCode known) && known != RpcStatusCode.OK)
        {
            return known;
        }

        return (Member(status, "code", JsonValueKind.Number)
            ?? Member(status, "grpc_code", JsonValueKind.Number))
            ?.TryGetInt32(out int code) != true ? null
            : IsCode(code) ? (RpcStatusCode)code
            : code is >= 400 and < 600 ? OfHttpStatus(code)
            : null;
    }

    // The error format of OAuth (RFC 6749, section 5.2), which token servers use. The HTTP status determines
    // the code.
    private static string? TextOf(JsonElement root) =>
        Member(root, "error", JsonValueKind.String)?.GetString() is not { } error ? null
        : Member(root, "error_description", JsonValueKind.String)?.GetString() is { Length: > 0 } description
            ? $"{error}: {description}"
            : error;

    // A detail of an unknown type cannot be converted to bytes, so it is omitted.
    private static ErrorResult.Types.Detail? DetailOf(JsonElement detail, RpcSchema? schema)
    {
        if (detail.ValueKind != JsonValueKind.Object
            || Member(detail, TypeName, JsonValueKind.String)?.GetString() is not { } url)
        {
            return null;
        }

        string name = url[(url.LastIndexOf('/') + 1)..];
        if ((schema ?? GrpcStatusDetails.Schema).FindInAny(name, GrpcStatusDetails.Schema) is not { } type)
        {
            return null;
        }

        try
        {
            Google.Protobuf.WellKnownTypes.Any any = new();
            MessageFormats.Json.Read(
                new(Encoding.UTF8.GetBytes(detail.GetRawText())), any,
                new FormatOptions { IgnoreUnknownFields = true, Schema = type.Schema });
            return new ErrorResult.Types.Detail { Type = name, Value = any.Value };
        }
        catch (RpcException)
        {
            // The JSON does not fit its type, so the detail is omitted.
            return null;
        }
    }

    private static JsonElement? Member(JsonElement holder, string name, JsonValueKind kind) =>
        holder.TryGetProperty(name, out JsonElement member) && member.ValueKind == kind ? member : null;

    // The name in google/rpc/code.proto, such as NOT_FOUND.
    private static string NameOf(RpcStatusCode code) =>
        code == RpcStatusCode.Cancelled ? "CANCELLED" : ConnectCodes.NameOf(code).ToUpperInvariant();
}
