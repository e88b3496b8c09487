# fish completion for stackmap
# stackmap itself answers: first "files" or "words", then a line per word, with its help after a tab.

function __stackmap_complete
    set -l words (commandline -opc)
    set -l program (string replace -r '^~/' "$HOME/" -- $words[1])
    set -l current (commandline -ct)
    set -l lines (_STACKMAP_COMPLETE=fish $program $words[2..-1] "$current" 2>/dev/null)
    if test "$lines[1]" = files
        __fish_complete_path (string replace -r '^--[^=]*=' '' -- "$current")
    else
        printf '%s\n' $lines[2..-1]
    end
end

complete -c stackmap -f -a '(__stackmap_complete)'
