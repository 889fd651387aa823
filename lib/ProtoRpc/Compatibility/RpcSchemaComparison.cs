using ProtoRpc.Compatibility;

namespace ProtoRpc;

/// <summary>Compares two versions of a schema, and finds the changes that break callers of the older
/// one.</summary>
/// <remarks>
/// The rules are those of <c>buf breaking</c>, and further ones for interface ids and routes of REST.
/// Features of editions are compared as they are resolved, so a file that is rewritten from proto3 to an
/// edition without a change of meaning breaks no messages. Files of google/protobuf are not compared.
/// </remarks>
/// <example><code>
/// foreach (RpcBreakingChange change in RpcSchemaComparison.Compare(released, planned))
/// {
///     Console.WriteLine($"{change.Rule}: {change.Message}");
/// }
/// </code></example>
public static class RpcSchemaComparison
{
    /// <summary>Finds the changes that break callers.</summary>
    /// <param name="reference">The older schema, which callers have.</param>
    /// <param name="difference">The newer schema.</param>
    /// <param name="options">The options; null for the defaults.</param>
    /// <returns>The changes, sorted by file, line and element; empty if nothing breaks.</returns>
    /// <exception cref="ArgumentException">The options select no category, or exclude an empty
    /// pattern.</exception>
    public static IReadOnlyList<RpcBreakingChange> Compare(
        RpcSchema reference, RpcSchema difference, RpcSchemaComparisonOptions? options = null)
    {
        ArgumentNullException.ThrowIfNull(reference);
        ArgumentNullException.ThrowIfNull(difference);
        options ??= new RpcSchemaComparisonOptions();
        options.Check();

        SchemaPair schemas = new(reference, difference);
        ChangeList changes = new(options);
        FeatureResolver features = new();
        FileComparer.Compare(schemas, changes);
        DeletionComparer.Compare(schemas, changes);
        MessageComparer messages = new(changes, features);
        foreach (RpcMessageInfo message in reference.Messages)
        {
            if (difference.FindMessage(message.FullName) is { } newer && schemas.AreKnown(message.FullName))
            {
                messages.Compare(message, newer);
            }
        }

        EnumComparer enums = new(changes, features);
        foreach (RpcEnumInfo type in reference.Enums)
        {
            if (schemas.FindEnum(type.FullName) is { } newer && schemas.AreKnown(type.FullName))
            {
                enums.Compare(type, newer);
            }
        }

        ServiceComparer services = new(changes);
        foreach (RpcServiceInfo service in reference.Services)
        {
            if (schemas.FindService(service.FullName) is { Problem: null } newer)
            {
                services.Compare(service, newer);
            }
        }

        return changes.ToSortedList();
    }
}

/// <summary>The options of <see cref="RpcSchemaComparison"/>.</summary>
public sealed record RpcSchemaComparisonOptions
{
    /// <summary>The default of <see cref="Category"/>: what concerns callers over a network, with the code
    /// that is generated for them.</summary>
    public const RpcBreakingCategory DefaultCategory =
        RpcBreakingCategory.Wire | RpcBreakingCategory.Json | RpcBreakingCategory.Source;

    private const RpcBreakingCategory All = DefaultCategory | RpcBreakingCategory.File;

    /// <summary>The categories to find. A change is found if it breaks one of them.</summary>
    public RpcBreakingCategory Category { get; init; } = DefaultCategory;

    /// <summary>Packages and elements to exclude: patterns of full names, in which <c>*</c> stands for any
    /// text and <c>?</c> for one character, in any case. Each is compared with the package and with the
    /// element: <c>*.v1alpha*</c>, <c>acme.internal.*</c>. Nothing is excluded by default.</summary>
    public IReadOnlyList<string> Exclude { get; init; } = [];

    internal void Check()
    {
        if ((Category & All) == 0 || (Category & ~All) != 0)
        {
            throw new ArgumentException(
                $"'{Category}' selects no category. Use Wire, Json, Source, File, or several of them.",
                nameof(Category));
        }

        if (Exclude.Any(string.IsNullOrEmpty))
        {
            throw new ArgumentException(
                "A pattern is empty. Use full names of packages or elements, such as acme.internal.*.",
                nameof(Exclude));
        }
    }
}
