using System.Buffers.Binary;
using System.IO.MemoryMappedFiles;

namespace ProtoRpc.Fuzz.Engine;

/// <summary>Keeps the input that runs in a file, which stays when the process dies in it, as of a stack that
/// overflows.</summary>
internal sealed class RunningInput : IDisposable
{
    /// <summary>The ending of the file's name.</summary>
    public const string Ending = ".running";

    private const int Capacity = 1 << 20;
    private readonly MemoryMappedFile _file;
    private readonly MemoryMappedViewAccessor _view;

    public RunningInput(string folder, string target)
    {
        Path = System.IO.Path.Combine(folder, $"{target}-{Environment.ProcessId}{Ending}");
        _file = MemoryMappedFile.CreateFromFile(Path, FileMode.Create, null, Capacity);
        _view = _file.CreateViewAccessor();
    }

    public string Path { get; }

    /// <summary>An input from a file: as it was saved, or as a process left it that died.</summary>
    public static byte[] Load(string path)
    {
        byte[] bytes = File.ReadAllBytes(path);
        return path.EndsWith(Ending, StringComparison.Ordinal)
            ? bytes.AsSpan(sizeof(int), BinaryPrimitives.ReadInt32LittleEndian(bytes)).ToArray()
            : bytes;
    }

    public void Set(byte[] input)
    {
        _view.Write(0, input.Length);
        _view.WriteArray(sizeof(int), input, 0, Math.Min(input.Length, Capacity - sizeof(int)));
    }

    public void Dispose()
    {
        _view.Dispose();
        _file.Dispose();
        File.Delete(Path);
    }
}
