using Google.Protobuf.Reflection;

namespace ProtoRpc.Schema.Linking;

/// <summary>Files that can be linked, and the changes.</summary>
/// <param name="Files">The files.</param>
/// <param name="Blamed">The original file for each file; empty for none.</param>
/// <param name="Types">The types that no file declares, and why.</param>
/// <param name="Services">The services without description, and why.</param>
/// <param name="Warnings">The changes that the user should know about.</param>
internal sealed record RepairedFiles(
    IReadOnlyList<DescriptorFile> Files, IReadOnlyDictionary<string, string> Blamed,
    IReadOnlyDictionary<string, string> Types, IReadOnlyDictionary<string, string> Services,
    IReadOnlyList<string> Warnings);

/// <summary>A message, enum, service or extension of a file, with all that is nested in it.</summary>
/// <param name="file">The file that declares it.</param>
/// <param name="element">Its descriptor, which is changed.</param>
internal sealed class Declaration(RepairedFile file, IMessage element)
{
    /// <summary>The file that declares it.</summary>
    public RepairedFile File { get; set; } = file;

    /// <summary>Its descriptor.</summary>
    public IMessage Element { get; } = element;

    /// <summary>The declarations that its fields and methods refer to.</summary>
    public HashSet<Declaration> Needs { get; } = [];
}

/// <summary>A file while it is repaired.</summary>
/// <param name="source">The original file.</param>
internal sealed class RepairedFile(DescriptorFile source)
{
    /// <summary>The original file.</summary>
    public DescriptorFile Source { get; } = source;

    /// <summary>The copy that is changed.</summary>
    public FileDescriptorProto Proto { get; } = source.Proto.Clone();

    /// <summary>The declarations of the file.</summary>
    public List<Declaration> Declarations { get; } = [];

    /// <summary>The imports to keep although no type of them is needed, for example for options.</summary>
    public IReadOnlyList<string> KeptImports { get; set; } = [];

    /// <summary>The imports of the original file that are missing, sorted by name; null until they are
    /// needed.</summary>
    public string[]? AbsentImports { get; set; }

    /// <summary>The file of the server that is at fault if this file cannot be linked; empty for
    /// none.</summary>
    public string Blamed { get; init; } = source.Name;

    /// <summary>Whether the file is only used if another one needs it.</summary>
    public bool IsOptional { get; init; }

    /// <summary>Whether the file declares substitutes for missing elements.</summary>
    public bool IsSubstitute { get; init; }

    /// <summary>Whether elements were added or removed, so that the places of its comments are
    /// wrong.</summary>
    public bool IsReduced { get; set; }

    /// <summary>The other files that declare what this one needs.</summary>
    public IEnumerable<RepairedFile> Needs => Declarations.SelectMany(declaration => declaration.Needs)
        .Select(needed => needed.File).Where(file => file != this).Distinct();

    /// <summary>Removes elements of a list of the descriptor.</summary>
    /// <returns>Whether elements were removed.</returns>
    public bool Reduce<T>(IList<T> elements, IReadOnlyList<T> kept)
    {
        if (kept.Count == elements.Count)
        {
            return false;
        }

        elements.Clear();
        foreach (T element in kept)
        {
            elements.Add(element);
        }

        IsReduced = true;
        return true;
    }

    /// <summary>Adds a comment to an element, which descriptions show.</summary>
    public void Comment(IEnumerable<int> path, string comment)
    {
        Proto.SourceCodeInfo ??= new SourceCodeInfo();
        Proto.SourceCodeInfo.Location.Add(new SourceCodeInfo.Types.Location
        {
            Path = { path },
            Span = { 0, 0, 0 },
            LeadingComments = $" {comment}\n",
        });
    }

    /// <summary>The repaired file.</summary>
    public DescriptorFile Create()
    {
        string[] imports =
            [.. KeptImports.Concat(Needs.Select(file => file.Proto.Name)).Distinct(StringComparer.Ordinal)];
        Proto.Dependency.Clear();
        Proto.Dependency.Add(imports);

        // The repaired file imports all files that it uses directly.
        Proto.PublicDependency.Clear();
        Proto.WeakDependency.Clear();
        if (IsReduced)
        {
            Proto.SourceCodeInfo = null;
        }

        return new DescriptorFile(Proto.ToByteString(), Proto, Source.Origin);
    }
}
