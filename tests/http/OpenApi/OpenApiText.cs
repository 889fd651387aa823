using Microsoft.OpenApi;
using Microsoft.OpenApi.Reader;

namespace ProtoRpc.Http.Tests.OpenApi;

/// <summary>Reads documents of OpenAPI with the library of Microsoft.</summary>
internal static class OpenApiText
{
    /// <summary>The document of a text, which has no errors and no warnings.</summary>
    public static OpenApiDocument Read(string text)
    {
        ReadResult result = OpenApiDocument.Parse(text, "json");
        Assert.Empty(result.Diagnostic!.Errors);
        Assert.Empty(result.Diagnostic.Warnings);
        return result.Document!;
    }

    /// <summary>The names of an operation's parameters in a place, in their order.</summary>
    public static string?[] ParametersOf(OpenApiOperation operation, ParameterLocation place) =>
    [
        .. (operation.Parameters ?? []).Where(parameter => parameter.In == place)
            .Select(parameter => parameter.Name),
    ];
}
