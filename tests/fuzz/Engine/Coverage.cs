using System.Runtime.InteropServices;
using SharpFuzz.Common;

namespace ProtoRpc.Fuzz.Engine;

/// <summary>The branches that the last input took, and those that any input of a target has taken.</summary>
internal sealed unsafe class Coverage
{
    private const int Size = 1 << 16;
    private static byte* s_taken;

    // For each branch the counts that were seen, as AFL has them: 1, 2, 3, 4-7, 8-15, 16-31, 32-127, more.
    private readonly byte[] _seen = new byte[Size];

    /// <summary>How many branches were taken so far.</summary>
    public int Branches => Size - _seen.AsSpan().Count((byte)0);

    /// <summary>Gives the instrumented libraries the memory to count in.</summary>
    public static void Start()
    {
        s_taken = (byte*)NativeMemory.AllocZeroed(Size);
        Trace.SharedMem = s_taken;
    }

    /// <summary>Forgets what the last input took.</summary>
    public static void Clear()
    {
        new Span<byte>(s_taken, Size).Clear();
        Trace.PrevLocation = 0;
    }

    /// <summary>Remembers what the last input took.</summary>
    /// <returns>Whether it took a branch, or took one as often, as no input has before.</returns>
    public bool Add()
    {
        ulong* words = (ulong*)s_taken;
        bool isNew = false;
        for (int word = 0; word < Size / sizeof(ulong); word++)
        {
            if (words[word] == 0)
            {
                continue;
            }

            for (int i = word * sizeof(ulong); i < (word + 1) * sizeof(ulong); i++)
            {
                byte bucket = BucketOf(s_taken[i]);
                if ((_seen[i] & bucket) != bucket)
                {
                    _seen[i] |= bucket;
                    isNew = true;
                }
            }
        }

        return isNew;
    }

    private static byte BucketOf(byte count) => count switch
    {
        0 => 0,
        1 => 1,
        2 => 2,
        3 => 4,
        < 8 => 8,
        < 16 => 16,
        < 32 => 32,
        < 128 => 64,
        _ => 128,
    };
}
