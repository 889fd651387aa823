using ProtoRpc.Schema.Linking;
using ProtoRpc.Schema.Sources.Protoc;

namespace ProtoRpc.Schema.Sources;

/// <summary>A kind of place that schemas are read from: a row of the table of sources.</summary>
/// <remarks>A source reads files with some extensions, or it reads locations that are not files.</remarks>
internal abstract class SchemaSource
{
    /// <summary>The endings of the files that it reads, with their dots.</summary>
    public virtual IReadOnlyList<string> Endings => [];

    /// <summary>Those of its endings that files of other kinds have, too. A wildcard matches such a file only
    /// if it names the ending.</summary>
    public virtual IReadOnlyList<string> SharedEndings => [];

    /// <summary>Whether a location is not a file and is read by this source.</summary>
    public virtual bool Takes(string location) => false;

    /// <summary>Reads all locations of this kind for one schema.</summary>
    /// <param name="locations">Files, or the locations that <see cref="Takes"/> accepted.</param>
    /// <param name="request">The request, with the folders to search.</param>
    /// <param name="cancellation">Gives up.</param>
    /// <exception cref="RpcException">The locations cannot be read, or contain no schema.</exception>
    public abstract Task<IReadOnlyList<SchemaPart>> ReadAsync(
        IReadOnlyList<SourceFile> locations, SchemaRequest request, CancellationToken cancellation);

    /// <summary>Whether the ending of a file is one of this source's.</summary>
    public bool Reads(string path) => Endings.Any(
        ending => path.EndsWith(ending, StringComparison.OrdinalIgnoreCase));
}

/// <summary>The settings for all locations of one schema.</summary>
/// <param name="ImportPaths">The folders of imports, in order.</param>
/// <param name="BaseFolder">The base of relative paths.</param>
internal sealed record SchemaRequest(IReadOnlyList<string> ImportPaths, string BaseFolder)
{
    /// <summary>The folders of which all files are loaded. Imports are also searched there.</summary>
    public IReadOnlyList<string> Folders { get; init; } = [];

    /// <summary>Converts a descriptor set that is JSON or text to binary; null if such sets are not
    /// read.</summary>
    public TextSetConverter? TextSets { get; init; }
}

/// <summary>Converts a descriptor set that is JSON or text to binary.</summary>
/// <param name="text">The set.</param>
/// <param name="origin">The source of the set, for errors.</param>
/// <exception cref="RpcException">InvalidArgument: the text is not a descriptor set.</exception>
internal delegate byte[] TextSetConverter(byte[] text, string origin);

/// <summary>A schema file to load, or another location.</summary>
/// <param name="Given">The path as the user wrote it, for messages.</param>
/// <param name="FullPath">The whole path; a location that is not a file is the same in both.</param>
internal sealed record SourceFile(string Given, string FullPath)
{
    /// <summary>Whether the file was found by a folder or a wildcard. If it has errors, it is omitted, and
    /// the other files are read.</summary>
    public bool IsMatched { get; init; }
}

/// <summary>Files that were read together, not linked yet: one run of protoc, one descriptor set, what one
/// server sent.</summary>
/// <param name="Files">The files with their imports.</param>
/// <param name="RootFiles">The names of the requested files.</param>
/// <param name="Warnings">Warnings; those of protoc as <c>file:line:column: text</c>.</param>
/// <param name="Label">A name for this part among others.</param>
internal sealed record SchemaPart(
    IReadOnlyList<DescriptorFile> Files, IReadOnlyList<string> RootFiles, IReadOnlyList<string> Warnings,
    string Label)
{
    /// <summary>The full paths of the files that were read; empty for a server.</summary>
    public IReadOnlyList<string> Paths { get; init; } = [];

    /// <summary>Warnings that name the files that were left out because of their errors.</summary>
    public IReadOnlyList<string> LeftOut { get; init; } = [];

    /// <summary>Warnings that name the files whose options were left out because of missing
    /// imports.</summary>
    public IReadOnlyList<string> LeftOutOptions { get; init; } = [];

    /// <summary>The files of a server that are incomplete or have errors; null for other sources.</summary>
    public ServerFiles? Found { get; init; }

    /// <summary>The error to report if no part has a file; null if this one has.</summary>
    public RpcException? Failure { get; init; }

    /// <summary>A part without a file, because all its files have errors and none was named.</summary>
    public static SchemaPart WithoutFiles(
        IEnumerable<SourceFile> files, IReadOnlyList<string> leftOut, RpcException failure) =>
        new([], [], [], "")
        {
            Paths = [.. files.Select(file => file.FullPath)],
            LeftOut = leftOut,
            Failure = failure,
        };

    /// <summary>The warning for a file that is left out.</summary>
    public static string WarningOf(SourceFile file, string errors) =>
        $"'{file.Given}' is left out of the schema, because it has errors: {errors}";

    /// <summary>The files of a schema that is linked already.</summary>
    public static SchemaPart Create(RpcSchema schema, string label) => new(
        schema.Gaps?.Source.Files
            ?? [.. schema.SchemaFiles.Select(file => new DescriptorFile(file.Bytes, file.Proto, label))],
        schema.Gaps?.Source.RootFiles ?? schema.RootFiles,
        schema.Gaps is null ? [.. schema.Warnings.Except(schema.Losses)] : [],
        label)
    {
        LeftOut = schema.Gaps is null ? schema.LeftOut : [],
        LeftOutOptions = schema.Gaps is null ? [.. schema.Losses.Except(schema.LeftOut)] : [],
        Found = schema.Gaps?.Source,
    };
}

/// <summary>.proto files, which protoc compiles.</summary>
internal sealed class ProtoSource : SchemaSource
{
    public override IReadOnlyList<string> Endings { get; } = [".proto"];

    public override Task<IReadOnlyList<SchemaPart>> ReadAsync(
        IReadOnlyList<SourceFile> locations, SchemaRequest request, CancellationToken cancellation) =>
        Task.FromResult(ProtocCompiler.Compile(locations, request, CompiledSchemas.OfUser));

    /// <summary>Compiles texts. A peer may choose their names and contents.</summary>
    /// <param name="files">The requested file and its imports, by name.</param>
    /// <exception cref="RpcException">A name leads outside the work folder, or the error of
    /// protoc.</exception>
    public static IReadOnlyList<SchemaPart> Compile(IReadOnlyList<KeyValuePair<string, string>> files)
    {
        using WorkFolder folder = new();
        string first = ProtoFolder.Write(folder.FullName, files)[0];
        return ProtocCompiler.Compile(
            [new SourceFile(first, first)], new SchemaRequest([folder.FullName], folder.FullName),
            known: null);
    }
}
