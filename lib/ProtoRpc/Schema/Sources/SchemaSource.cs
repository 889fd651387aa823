using ProtoRpc.Schema.Linking;
using ProtoRpc.Schema.Sources.Protoc;

namespace ProtoRpc.Schema.Sources;

/// <summary>A kind of place that schemas are read from: a row of the table of sources.</summary>
/// <remarks>A source reads files of some endings, or it takes locations that are not files.</remarks>
internal abstract class SchemaSource
{
    /// <summary>The endings of the files that it reads, with their dots.</summary>
    public virtual IReadOnlyList<string> Endings => [];

    /// <summary>Whether a location is not a file and is read by this source.</summary>
    public virtual bool Takes(string location) => false;

    /// <summary>Reads all locations of this kind that one schema is made of.</summary>
    /// <param name="locations">Files, or the locations that <see cref="Takes"/> accepted.</param>
    /// <param name="request">Where files are looked for.</param>
    /// <param name="cancellation">Gives up.</param>
    /// <exception cref="RpcException">They cannot be read, or are no schema.</exception>
    public abstract Task<IReadOnlyList<SchemaPart>> ReadAsync(
        IReadOnlyList<SourceFile> locations, SchemaRequest request, CancellationToken cancellation);

    /// <summary>Whether the ending of a file is one of this source's.</summary>
    public bool Reads(string path) => Endings.Any(
        ending => path.EndsWith(ending, StringComparison.OrdinalIgnoreCase));
}

/// <summary>What belongs to all locations of one schema.</summary>
/// <param name="ImportPaths">The folders of imports, in order.</param>
/// <param name="BaseFolder">What relative paths start from.</param>
internal sealed record SchemaRequest(IReadOnlyList<string> ImportPaths, string BaseFolder)
{
    /// <summary>The folders of which all files are loaded. Imports are also searched there.</summary>
    public IReadOnlyList<string> Folders { get; init; } = [];
}

/// <summary>A schema file to load, or another location.</summary>
/// <param name="Given">The path as the user wrote it, for messages.</param>
/// <param name="FullPath">The whole path; a location that is not a file is the same in both.</param>
internal sealed record SourceFile(string Given, string FullPath)
{
    /// <summary>Whether a folder or a wildcard led to it. If it has errors, it is left out, and the other
    /// files are read.</summary>
    public bool IsMatched { get; init; }
}

/// <summary>Files that were read together, not linked yet: one run of protoc, one descriptor set, what one
/// server sent.</summary>
/// <param name="Files">The files with their imports.</param>
/// <param name="RootFiles">The names of those that were asked for.</param>
/// <param name="Warnings">Warnings; those of protoc as <c>file:line:column: text</c>.</param>
/// <param name="Label">A name for this part among others.</param>
internal sealed record SchemaPart(
    IReadOnlyList<DescriptorFile> Files, IReadOnlyList<string> RootFiles, IReadOnlyList<string> Warnings,
    string Label)
{
    /// <summary>The full paths of the files that were read; empty where it was a server.</summary>
    public IReadOnlyList<string> Paths { get; init; } = [];

    /// <summary>Warnings that name the files that were left out because of their errors.</summary>
    public IReadOnlyList<string> LeftOut { get; init; } = [];

    /// <summary>Warnings that name the files whose options were left out because of missing
    /// imports.</summary>
    public IReadOnlyList<string> LeftOutOptions { get; init; } = [];

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
        [.. schema.SchemaFiles.Select(file => new DescriptorFile(file.Bytes, file.Proto, label))],
        schema.RootFiles,
        schema.Warnings,
        label);
}

/// <summary>Files that are serialized FileDescriptorSets.</summary>
internal sealed class DescriptorSetSource : SchemaSource
{
    public override IReadOnlyList<string> Endings { get; } =
        [".pb", ".protoset", ".desc", ".binpb", ".bin", ".fds"];

    public override Task<IReadOnlyList<SchemaPart>> ReadAsync(
        IReadOnlyList<SourceFile> locations, SchemaRequest request, CancellationToken cancellation) =>
        Task.FromResult<IReadOnlyList<SchemaPart>>(
        [
            .. locations.Select(Read),
        ]);

    /// <summary>A descriptor set as a part of a schema.</summary>
    /// <param name="bytes">The set; kept, not copied.</param>
    /// <param name="origin">What it is, for error messages.</param>
    /// <param name="path">What the part is named by.</param>
    /// <exception cref="RpcException">InvalidArgument when the bytes are no such set.</exception>
    public static SchemaPart PartOf(byte[] bytes, string origin, string path)
    {
        IReadOnlyList<DescriptorFile> files = DescriptorSetReader.Read(bytes, origin);
        return new SchemaPart(
            files, DescriptorLinker.FindRoots(files), [], Path.GetFileNameWithoutExtension(path));
    }

    private static SchemaPart Read(SourceFile file)
    {
        try
        {
            return PartOf(BytesOf(file), $"'{file.Given}'", file.FullPath) with { Paths = [file.FullPath] };
        }
        catch (RpcException e) when (file.IsMatched)
        {
            return SchemaPart.WithoutFiles([file], [SchemaPart.WarningOf(file, e.Message)], e);
        }
    }

    private static byte[] BytesOf(SourceFile file)
    {
        try
        {
            return File.ReadAllBytes(file.FullPath);
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            throw SchemaError.Invalid(
                $"Cannot read '{file.Given}': {FileProblem.Describe(e, file.Given)}.", e);
        }
    }
}

/// <summary>.proto files, which protoc compiles.</summary>
internal sealed class ProtoSource : SchemaSource
{
    public override IReadOnlyList<string> Endings { get; } = [".proto"];

    public override Task<IReadOnlyList<SchemaPart>> ReadAsync(
        IReadOnlyList<SourceFile> locations, SchemaRequest request, CancellationToken cancellation) =>
        Task.FromResult(ProtocCompiler.Compile(locations, request));

    /// <summary>Compiles texts, whose names and content may come from a peer.</summary>
    /// <param name="files">The file that is asked for and those that it imports, by their names.</param>
    /// <exception cref="RpcException">A name leads out of the folder that they are compiled in, or what
    /// protoc finds wrong.</exception>
    public static IReadOnlyList<SchemaPart> Compile(IReadOnlyList<KeyValuePair<string, string>> files)
    {
        using WorkFolder folder = new();
        string first = ProtoFolder.Write(folder.FullName, files)[0];
        return ProtocCompiler.Compile(
            [new SourceFile(first, first)], new SchemaRequest([folder.FullName], folder.FullName));
    }
}

/// <summary>Reads serialized FileDescriptorSets.</summary>
internal static class DescriptorSetReader
{
    private const uint FileTag = (1 << 3) | (uint)WireFormat.WireType.LengthDelimited;

    /// <summary>The files of a set, in its order.</summary>
    /// <param name="bytes">The set; kept, not copied.</param>
    /// <param name="origin">What it is, for error messages.</param>
    /// <exception cref="RpcException">InvalidArgument when the bytes are no set of files.</exception>
    public static IReadOnlyList<DescriptorFile> Read(byte[] bytes, string origin)
    {
        List<DescriptorFile> files = [];
        try
        {
            using CodedInputStream input = new(bytes);
            for (uint tag = input.ReadTag(); tag != 0; tag = input.ReadTag())
            {
                if (tag == FileTag)
                {
                    files.Add(DescriptorFile.Parse(input.ReadBytes(), origin));
                }
                else
                {
                    input.SkipLastField();
                }
            }
        }
        catch (InvalidProtocolBufferException e)
        {
            throw SchemaError.Invalid(
                $"Cannot read {origin}: it is not a serialized FileDescriptorSet, or it is cut off "
                + $"({e.Message}) "
                + "Make one with 'protoc --include_imports --descriptor_set_out=FILE'.", e);
        }

        return files.Count > 0 ? files : throw SchemaError.Invalid($"Cannot use {origin}: it holds no file.");
    }
}
