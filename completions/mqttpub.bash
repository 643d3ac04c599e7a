# Completion of mqttpub for bash; written by `mqttpub completion bash`.

# Not compgen -W, which runs what it finds in its words.
_mqttpub_matching() {
    local -a words
    local each
    read -r -d '' -a words <<<"$1"
    for each in "${words[@]}"; do
        [[ $each == "$current"* ]] && COMPREPLY+=("$each")
    done
}

_mqttpub_files() {
    local each
    while IFS= read -r each; do
        COMPREPLY+=("$each")
    done < <(compgen -f -- "$current")
}

_mqttpub() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
    local command='' try word index options='' words='' files='' values=none listing=''
    for ((index = 1; index < COMP_CWORD; index++)); do
        word=${COMP_WORDS[index]}
        try=${command:+$command }$word
        case "$try" in
            'pub'|'encode'|'encode connect'|'encode connack'|'encode publish'|'encode puback'|'encode pubrec'|'encode pubrel'|'encode pubcomp'|'encode subscribe'|'encode suback'|'encode unsubscribe'|'encode unsuback'|'encode pingreq'|'encode pingresp'|'encode disconnect'|'encode auth'|'decode'|'lint'|'explain'|'pipeline'|'bench'|'walkthrough'|'broker'|'profile'|'profile list'|'profile show'|'completion'|'help') command=$try ;;
        esac
    done
    case "$command" in
        '') options='--version --color --no-pager --help' words='pub encode decode lint explain pipeline bench walkthrough broker profile completion help' ;;
        'pub') options='-t --topic -m --message --payload -f --file -s --stdin -n --null-message -q --qos -r --retain --dup --packet-id --format -Pp --protobuf-path -Pmn --protobuf-message-name -Ap --avsc-path --payload-size -pf --payload-format-indicator -e --message-expiry-interval -ct --content-type -rt --response-topic -cd --correlation-data -si --subscription-identifier -ta --topic-alias -up --user-property -l --stdin-line --jsonl -0 --null --delimiter --template --repeat --repeat-delay --rate -M --max-inflight --outbox --resend-doubtful --reconnect --require-subscribers -L --url -h --host -p --port -V --mqtt-version -i --client-id -I --id-prefix -u --username -P --password --password-file --ask-password -k --keep-alive --clean --no-clean -c --timeout --protocol --ws --ws-path --ws-header --unix --proxy -A --bind --tls --no-tls --cafile --capath --cert --key --key-password --key-password-file --tls-version --tls-max-version --ciphers --alpn --sni --key-log --insecure --no-verify-hostname -Wt --will-topic -Wm --will-message -Wq --will-qos -Wr --will-retain --no-will-retain -Wpf --will-payload-format-indicator -We --will-message-expiry-interval -Wct --will-content-type -Wrt --will-response-topic -Wcd --will-correlation-data -Wd --will-delay-interval -Wup --will-user-property -x -se --session-expiry-interval -am --authentication-method --authentication-data --request-problem-information --no-request-problem-information --request-response-information --receive-maximum --topic-alias-maximum -Cup --connect-user-property --maximum-packet-size --disconnect-reason-code --disconnect-session-expiry-interval --disconnect-server-reference --disconnect-reason-string --disconnect-user-property -D --property -d --inspect --lint --json --show-secrets --full --quiet --embedded --force --profile --color --no-pager --help-all --help' words='' ;;
        'encode') options='--format -d --inspect --show-secrets --full --json --color --no-pager --help' words='connect connack publish puback pubrec pubrel pubcomp subscribe suback unsubscribe unsuback pingreq pingresp disconnect auth' ;;
        'encode connect') options='--flags --protocol-name --protocol-level --username-flag --password-flag -Wr --will-retain --no-will-retain -Wq --will-qos --will-flag --clean-start --no-clean-start --reserved --no-reserved -k --keep-alive -i --client-id -Wt --will-topic -Wm --will-message -Wpf --will-payload-format-indicator -We --will-message-expiry-interval -Wct --will-content-type -Wrt --will-response-topic -Wcd --will-correlation-data -Wd --will-delay-interval -Wup --will-user-property -u --username -P --password -V --mqtt-version --remaining-length --format -d --inspect --show-secrets --full -x -se --session-expiry-interval -am --authentication-method --authentication-data --request-problem-information --request-response-information --receive-maximum --topic-alias-maximum -up --user-property --maximum-packet-size --color --no-pager --help-all --help' words='' ;;
        'encode connack') options='--flags --reserved --session-present --no-session-present --unused --reason-code -V --mqtt-version --remaining-length --format -d --inspect --show-secrets --full -x -se --session-expiry-interval --assigned-client-identifier --server-keep-alive -am --authentication-method --authentication-data --response-information --server-reference --reason-string --receive-maximum --topic-alias-maximum --maximum-qos --retain-available -up --user-property --maximum-packet-size --wildcard-subscription-available --subscription-identifier-available --shared-subscription-available --color --no-pager --help-all --help' words='' ;;
        'encode publish') options='--dup --no-dup -q --qos -r --retain --no-retain -t --topic --packet-id -m --message --payload -f --file -s --stdin -n --null-message -V --mqtt-version --remaining-length --format -d --inspect --show-secrets --full -pf --payload-format-indicator -e --message-expiry-interval -ct --content-type -rt --response-topic -cd --correlation-data -si --subscription-identifier -ta --topic-alias -up --user-property --color --no-pager --help-all --help' words='' ;;
        'encode puback') options='--flags --packet-id --reason-code -V --mqtt-version --remaining-length --format -d --inspect --show-secrets --full --reason-string -up --user-property --color --no-pager --help-all --help' words='' ;;
        'encode pubrec') options='--flags --packet-id --reason-code -V --mqtt-version --remaining-length --format -d --inspect --show-secrets --full --reason-string -up --user-property --color --no-pager --help-all --help' words='' ;;
        'encode pubrel') options='--header-dup --no-header-dup --header-qos --header-retain --no-header-retain --flags --packet-id --reason-code -V --mqtt-version --remaining-length --format -d --inspect --show-secrets --full --reason-string -up --user-property --color --no-pager --help-all --help' words='' ;;
        'encode pubcomp') options='--flags --packet-id --reason-code -V --mqtt-version --remaining-length --format -d --inspect --show-secrets --full --reason-string -up --user-property --color --no-pager --help-all --help' words='' ;;
        'encode subscribe') options='--header-dup --no-header-dup --header-qos --header-retain --no-header-retain --flags --packet-id -t --filter --reserved --retain-handling --retain-as-published --no-retain-as-published --no-local --no-no-local --unused -q --qos -V --mqtt-version --remaining-length --format -d --inspect --show-secrets --full -si --subscription-identifier -up --user-property --color --no-pager --help-all --help' words='' ;;
        'encode suback') options='--flags --packet-id --reason-code -V --mqtt-version --remaining-length --format -d --inspect --show-secrets --full --reason-string -up --user-property --color --no-pager --help-all --help' words='' ;;
        'encode unsubscribe') options='--header-dup --no-header-dup --header-qos --header-retain --no-header-retain --flags --packet-id -t --filter -V --mqtt-version --remaining-length --format -d --inspect --show-secrets --full -up --user-property --color --no-pager --help-all --help' words='' ;;
        'encode unsuback') options='--flags --packet-id --reason-code -V --mqtt-version --remaining-length --format -d --inspect --show-secrets --full --reason-string -up --user-property --color --no-pager --help-all --help' words='' ;;
        'encode pingreq') options='--flags -V --mqtt-version --remaining-length --format -d --inspect --show-secrets --full --color --no-pager --help' words='' ;;
        'encode pingresp') options='--flags -V --mqtt-version --remaining-length --format -d --inspect --show-secrets --full --color --no-pager --help' words='' ;;
        'encode disconnect') options='--flags --reason-code -V --mqtt-version --remaining-length --format -d --inspect --show-secrets --full -x -se --session-expiry-interval --server-reference --reason-string -up --user-property --color --no-pager --help-all --help' words='' ;;
        'encode auth') options='--flags --reason-code -V --mqtt-version --remaining-length --format -d --inspect --show-secrets --full -am --authentication-method --authentication-data --reason-string -up --user-property --color --no-pager --help-all --help' words='' ;;
        'decode') options='-f --file --form -V --mqtt-version --direction --port --key-log --max-connections --summary --flows --stats --ladder --svg --mermaid --html --parquet --arrow --pdml --tshark-json --filter --follow --absolute-time --json --show-secrets --full --color --no-pager --help-all --help' words='' files=1 ;;
        'lint') options='-f --file --form -V --mqtt-version --direction --port --key-log --max-connections --select --ignore --severity --filter --explain --report --limit --json --sarif --absolute-time --show-secrets --full --color --no-pager --help-all --help' words='' files=1 ;;
        'explain') options='--json --color --no-pager --help' words='connect connack publish puback pubrec pubrel pubcomp subscribe suback unsubscribe unsuback pingreq pingresp disconnect auth payload-format-indicator message-expiry-interval content-type response-topic correlation-data subscription-identifier session-expiry-interval assigned-client-identifier server-keep-alive authentication-method authentication-data request-problem-information will-delay-interval request-response-information response-information server-reference reason-string receive-maximum topic-alias-maximum topic-alias maximum-qos retain-available user-property maximum-packet-size wildcard-subscription-available subscription-identifier-available shared-subscription-available success normal-disconnection granted-qos-0 granted-qos-1 granted-qos-2 disconnect-with-will-message no-matching-subscribers no-subscription-existed continue-authentication re-authenticate unspecified-error malformed-packet protocol-error implementation-specific-error unsupported-protocol-version client-identifier-not-valid bad-user-name-or-password not-authorized server-unavailable server-busy banned server-shutting-down bad-authentication-method keep-alive-timeout session-taken-over topic-filter-invalid topic-name-invalid packet-identifier-in-use packet-identifier-not-found receive-maximum-exceeded topic-alias-invalid packet-too-large message-rate-too-high quota-exceeded administrative-action payload-format-invalid retain-not-supported qos-not-supported use-another-server server-moved shared-subscriptions-not-supported connection-rate-exceeded maximum-connect-time subscription-identifiers-not-supported wildcard-subscriptions-not-supported protocol-name protocol-version user-name-flag password-flag will-retain will-qos will-flag clean-start keep-alive client-identifier will-topic will-payload user-name password session-present reason-code dup qos retain topic-name packet-identifier payload topic-filter retain-handling retain-as-published no-local will remaining-length variable-byte-integer fixed-header session wildcards shared-subscription topic flow-control request-and-response enhanced-authentication' ;;
        'pipeline') options='-o --out --format --mode --partition-by --resume --report --against --summary --no-summary --json --quiet --since --until --topic --payload --lint --port --master --remote --conf --partitions --verbose --warm --color --no-pager --help-all --help' words='' files=1 ;;
        'bench') options='-t --topic --connections -n --messages --duration --rate -q --qos -r --retain -m --message --payload -f --file -s --stdin --null-message --format -Pp --protobuf-path -Pmn --protobuf-message-name -Ap --avsc-path -S --payload-size -M --max-inflight --histogram --json -L --url -h --host -p --port -V --mqtt-version -i --client-id -I --id-prefix -u --username -P --password --password-file --ask-password -k --keep-alive --clean --no-clean -c --timeout --protocol --ws --ws-path --ws-header --unix --proxy -A --bind --tls --no-tls --cafile --capath --cert --key --key-password --key-password-file --tls-version --tls-max-version --ciphers --alpn --sni --key-log --insecure --no-verify-hostname --profile --color --no-pager --help-all --help' words='' ;;
        'walkthrough') options='--pause --no-pause --color --no-pager --help' words='' ;;
        'broker') options='-p --port -A --bind -q --quiet --color --no-pager --help' words='' ;;
        'profile') options='--color --no-pager --help' words='list show' ;;
        'profile list') options='--help' words='' ;;
        'profile show') options='--help' words='' listing='profile list' ;;
        'completion') options='--color --no-pager --help' words='bash zsh fish' ;;
        'help') options='--color --no-pager --help' words='publish bulk migrate exit-status decode lint encode pipeline tables spark clusters flags completion pub explain bench walkthrough broker profile help' ;;
    esac
    case "$command $previous" in
        ' --color') values='auto always never' ;;
        'pub -t'|'pub --topic') values='' ;;
        'pub -m'|'pub --message') values='' ;;
        'pub --payload') values='' ;;
        'pub -f'|'pub --file') values='=files' ;;
        'pub -q'|'pub --qos') values='0 1 2' ;;
        'pub --packet-id') values='' ;;
        'pub --format') values='text json hex base64 binary raw cbor msgpack protobuf avro' ;;
        'pub -Pp'|'pub --protobuf-path') values='=files' ;;
        'pub -Pmn'|'pub --protobuf-message-name') values='' ;;
        'pub -Ap'|'pub --avsc-path') values='=files' ;;
        'pub --payload-size') values='' ;;
        'pub -pf'|'pub --payload-format-indicator') values='0 1' ;;
        'pub -e'|'pub --message-expiry-interval') values='' ;;
        'pub -ct'|'pub --content-type') values='' ;;
        'pub -rt'|'pub --response-topic') values='' ;;
        'pub -cd'|'pub --correlation-data') values='' ;;
        'pub -si'|'pub --subscription-identifier') values='' ;;
        'pub -ta'|'pub --topic-alias') values='auto' ;;
        'pub -up'|'pub --user-property') values='' ;;
        'pub --delimiter') values='' ;;
        'pub --repeat') values='' ;;
        'pub --repeat-delay') values='' ;;
        'pub --rate') values='' ;;
        'pub -M'|'pub --max-inflight') values='' ;;
        'pub --outbox') values='=files' ;;
        'pub --reconnect') values='always' ;;
        'pub -L'|'pub --url') values='' ;;
        'pub -h'|'pub --host') values='' ;;
        'pub -p'|'pub --port') values='' ;;
        'pub -V'|'pub --mqtt-version') values='3.1 3.1.1 5' ;;
        'pub -i'|'pub --client-id') values='' ;;
        'pub -I'|'pub --id-prefix') values='' ;;
        'pub -u'|'pub --username') values='' ;;
        'pub -P'|'pub --password') values='' ;;
        'pub --password-file') values='=files' ;;
        'pub -k'|'pub --keep-alive') values='' ;;
        'pub --timeout') values='' ;;
        'pub --protocol') values='mqtt mqtts ws wss' ;;
        'pub --ws-path') values='' ;;
        'pub --ws-header') values='' ;;
        'pub --unix') values='=files' ;;
        'pub --proxy') values='' ;;
        'pub -A'|'pub --bind') values='' ;;
        'pub --cafile') values='=files' ;;
        'pub --capath') values='=files' ;;
        'pub --cert') values='=files' ;;
        'pub --key') values='=files' ;;
        'pub --key-password') values='' ;;
        'pub --key-password-file') values='=files' ;;
        'pub --tls-version') values='1.2 1.3' ;;
        'pub --tls-max-version') values='1.2 1.3' ;;
        'pub --ciphers') values='' ;;
        'pub --alpn') values='' ;;
        'pub --sni') values='' ;;
        'pub --key-log') values='=files' ;;
        'pub -Wt'|'pub --will-topic') values='' ;;
        'pub -Wm'|'pub --will-message') values='' ;;
        'pub -Wq'|'pub --will-qos') values='' ;;
        'pub -Wpf'|'pub --will-payload-format-indicator') values='0 1' ;;
        'pub -We'|'pub --will-message-expiry-interval') values='' ;;
        'pub -Wct'|'pub --will-content-type') values='' ;;
        'pub -Wrt'|'pub --will-response-topic') values='' ;;
        'pub -Wcd'|'pub --will-correlation-data') values='' ;;
        'pub -Wd'|'pub --will-delay-interval') values='' ;;
        'pub -Wup'|'pub --will-user-property') values='' ;;
        'pub -x'|'pub -se'|'pub --session-expiry-interval') values='never' ;;
        'pub -am'|'pub --authentication-method') values='' ;;
        'pub --authentication-data') values='' ;;
        'pub --request-problem-information') values='0 1' ;;
        'pub --request-response-information') values='0 1' ;;
        'pub --receive-maximum') values='' ;;
        'pub --topic-alias-maximum') values='' ;;
        'pub -Cup'|'pub --connect-user-property') values='' ;;
        'pub --maximum-packet-size') values='' ;;
        'pub --disconnect-reason-code') values='' ;;
        'pub --disconnect-session-expiry-interval') values='never' ;;
        'pub --disconnect-server-reference') values='' ;;
        'pub --disconnect-reason-string') values='' ;;
        'pub --disconnect-user-property') values='' ;;
        'pub -D'|'pub --property') values='' ;;
        'pub --profile') values='=listing' listing='profile list' ;;
        'pub --color') values='auto always never' ;;
        'encode --format') values='hex raw base64 c' ;;
        'encode --json') values='' ;;
        'encode --color') values='auto always never' ;;
        'encode connect --flags') values='' ;;
        'encode connect --protocol-name') values='' ;;
        'encode connect --protocol-level') values='' ;;
        'encode connect --username-flag') values='' ;;
        'encode connect --password-flag') values='' ;;
        'encode connect -Wq'|'encode connect --will-qos') values='' ;;
        'encode connect --will-flag') values='' ;;
        'encode connect -k'|'encode connect --keep-alive') values='' ;;
        'encode connect -i'|'encode connect --client-id') values='' ;;
        'encode connect -Wt'|'encode connect --will-topic') values='' ;;
        'encode connect -Wm'|'encode connect --will-message') values='' ;;
        'encode connect -Wpf'|'encode connect --will-payload-format-indicator') values='0 1' ;;
        'encode connect -We'|'encode connect --will-message-expiry-interval') values='' ;;
        'encode connect -Wct'|'encode connect --will-content-type') values='' ;;
        'encode connect -Wrt'|'encode connect --will-response-topic') values='' ;;
        'encode connect -Wcd'|'encode connect --will-correlation-data') values='' ;;
        'encode connect -Wd'|'encode connect --will-delay-interval') values='' ;;
        'encode connect -Wup'|'encode connect --will-user-property') values='' ;;
        'encode connect -u'|'encode connect --username') values='' ;;
        'encode connect -P'|'encode connect --password') values='' ;;
        'encode connect -V'|'encode connect --mqtt-version') values='3.1 3.1.1 5' ;;
        'encode connect --remaining-length') values='' ;;
        'encode connect --format') values='hex raw base64 c' ;;
        'encode connect -x'|'encode connect -se'|'encode connect --session-expiry-interval') values='never' ;;
        'encode connect -am'|'encode connect --authentication-method') values='' ;;
        'encode connect --authentication-data') values='' ;;
        'encode connect --request-problem-information') values='0 1' ;;
        'encode connect --request-response-information') values='0 1' ;;
        'encode connect --receive-maximum') values='' ;;
        'encode connect --topic-alias-maximum') values='' ;;
        'encode connect -up'|'encode connect --user-property') values='' ;;
        'encode connect --maximum-packet-size') values='' ;;
        'encode connect --color') values='auto always never' ;;
        'encode connack --flags') values='' ;;
        'encode connack --reserved') values='' ;;
        'encode connack --unused') values='' ;;
        'encode connack --reason-code') values='' ;;
        'encode connack -V'|'encode connack --mqtt-version') values='3.1 3.1.1 5' ;;
        'encode connack --remaining-length') values='' ;;
        'encode connack --format') values='hex raw base64 c' ;;
        'encode connack -x'|'encode connack -se'|'encode connack --session-expiry-interval') values='never' ;;
        'encode connack --assigned-client-identifier') values='' ;;
        'encode connack --server-keep-alive') values='' ;;
        'encode connack -am'|'encode connack --authentication-method') values='' ;;
        'encode connack --authentication-data') values='' ;;
        'encode connack --response-information') values='' ;;
        'encode connack --server-reference') values='' ;;
        'encode connack --reason-string') values='' ;;
        'encode connack --receive-maximum') values='' ;;
        'encode connack --topic-alias-maximum') values='' ;;
        'encode connack --maximum-qos') values='0 1' ;;
        'encode connack --retain-available') values='0 1' ;;
        'encode connack -up'|'encode connack --user-property') values='' ;;
        'encode connack --maximum-packet-size') values='' ;;
        'encode connack --wildcard-subscription-available') values='0 1' ;;
        'encode connack --subscription-identifier-available') values='0 1' ;;
        'encode connack --shared-subscription-available') values='0 1' ;;
        'encode connack --color') values='auto always never' ;;
        'encode publish -q'|'encode publish --qos') values='' ;;
        'encode publish -t'|'encode publish --topic') values='' ;;
        'encode publish --packet-id') values='' ;;
        'encode publish -m'|'encode publish --message') values='' ;;
        'encode publish --payload') values='' ;;
        'encode publish -f'|'encode publish --file') values='=files' ;;
        'encode publish -V'|'encode publish --mqtt-version') values='3.1 3.1.1 5' ;;
        'encode publish --remaining-length') values='' ;;
        'encode publish --format') values='hex raw base64 c' ;;
        'encode publish -pf'|'encode publish --payload-format-indicator') values='0 1' ;;
        'encode publish -e'|'encode publish --message-expiry-interval') values='' ;;
        'encode publish -ct'|'encode publish --content-type') values='' ;;
        'encode publish -rt'|'encode publish --response-topic') values='' ;;
        'encode publish -cd'|'encode publish --correlation-data') values='' ;;
        'encode publish -si'|'encode publish --subscription-identifier') values='' ;;
        'encode publish -ta'|'encode publish --topic-alias') values='' ;;
        'encode publish -up'|'encode publish --user-property') values='' ;;
        'encode publish --color') values='auto always never' ;;
        'encode puback --flags') values='' ;;
        'encode puback --packet-id') values='' ;;
        'encode puback --reason-code') values='' ;;
        'encode puback -V'|'encode puback --mqtt-version') values='3.1 3.1.1 5' ;;
        'encode puback --remaining-length') values='' ;;
        'encode puback --format') values='hex raw base64 c' ;;
        'encode puback --reason-string') values='' ;;
        'encode puback -up'|'encode puback --user-property') values='' ;;
        'encode puback --color') values='auto always never' ;;
        'encode pubrec --flags') values='' ;;
        'encode pubrec --packet-id') values='' ;;
        'encode pubrec --reason-code') values='' ;;
        'encode pubrec -V'|'encode pubrec --mqtt-version') values='3.1 3.1.1 5' ;;
        'encode pubrec --remaining-length') values='' ;;
        'encode pubrec --format') values='hex raw base64 c' ;;
        'encode pubrec --reason-string') values='' ;;
        'encode pubrec -up'|'encode pubrec --user-property') values='' ;;
        'encode pubrec --color') values='auto always never' ;;
        'encode pubrel --header-qos') values='' ;;
        'encode pubrel --flags') values='' ;;
        'encode pubrel --packet-id') values='' ;;
        'encode pubrel --reason-code') values='' ;;
        'encode pubrel -V'|'encode pubrel --mqtt-version') values='3.1 3.1.1 5' ;;
        'encode pubrel --remaining-length') values='' ;;
        'encode pubrel --format') values='hex raw base64 c' ;;
        'encode pubrel --reason-string') values='' ;;
        'encode pubrel -up'|'encode pubrel --user-property') values='' ;;
        'encode pubrel --color') values='auto always never' ;;
        'encode pubcomp --flags') values='' ;;
        'encode pubcomp --packet-id') values='' ;;
        'encode pubcomp --reason-code') values='' ;;
        'encode pubcomp -V'|'encode pubcomp --mqtt-version') values='3.1 3.1.1 5' ;;
        'encode pubcomp --remaining-length') values='' ;;
        'encode pubcomp --format') values='hex raw base64 c' ;;
        'encode pubcomp --reason-string') values='' ;;
        'encode pubcomp -up'|'encode pubcomp --user-property') values='' ;;
        'encode pubcomp --color') values='auto always never' ;;
        'encode subscribe --header-qos') values='' ;;
        'encode subscribe --flags') values='' ;;
        'encode subscribe --packet-id') values='' ;;
        'encode subscribe -t'|'encode subscribe --filter') values='' ;;
        'encode subscribe --reserved') values='' ;;
        'encode subscribe --retain-handling') values='' ;;
        'encode subscribe --unused') values='' ;;
        'encode subscribe -q'|'encode subscribe --qos') values='' ;;
        'encode subscribe -V'|'encode subscribe --mqtt-version') values='3.1 3.1.1 5' ;;
        'encode subscribe --remaining-length') values='' ;;
        'encode subscribe --format') values='hex raw base64 c' ;;
        'encode subscribe -si'|'encode subscribe --subscription-identifier') values='' ;;
        'encode subscribe -up'|'encode subscribe --user-property') values='' ;;
        'encode subscribe --color') values='auto always never' ;;
        'encode suback --flags') values='' ;;
        'encode suback --packet-id') values='' ;;
        'encode suback --reason-code') values='' ;;
        'encode suback -V'|'encode suback --mqtt-version') values='3.1 3.1.1 5' ;;
        'encode suback --remaining-length') values='' ;;
        'encode suback --format') values='hex raw base64 c' ;;
        'encode suback --reason-string') values='' ;;
        'encode suback -up'|'encode suback --user-property') values='' ;;
        'encode suback --color') values='auto always never' ;;
        'encode unsubscribe --header-qos') values='' ;;
        'encode unsubscribe --flags') values='' ;;
        'encode unsubscribe --packet-id') values='' ;;
        'encode unsubscribe -t'|'encode unsubscribe --filter') values='' ;;
        'encode unsubscribe -V'|'encode unsubscribe --mqtt-version') values='3.1 3.1.1 5' ;;
        'encode unsubscribe --remaining-length') values='' ;;
        'encode unsubscribe --format') values='hex raw base64 c' ;;
        'encode unsubscribe -up'|'encode unsubscribe --user-property') values='' ;;
        'encode unsubscribe --color') values='auto always never' ;;
        'encode unsuback --flags') values='' ;;
        'encode unsuback --packet-id') values='' ;;
        'encode unsuback --reason-code') values='' ;;
        'encode unsuback -V'|'encode unsuback --mqtt-version') values='3.1 3.1.1 5' ;;
        'encode unsuback --remaining-length') values='' ;;
        'encode unsuback --format') values='hex raw base64 c' ;;
        'encode unsuback --reason-string') values='' ;;
        'encode unsuback -up'|'encode unsuback --user-property') values='' ;;
        'encode unsuback --color') values='auto always never' ;;
        'encode pingreq --flags') values='' ;;
        'encode pingreq -V'|'encode pingreq --mqtt-version') values='3.1 3.1.1 5' ;;
        'encode pingreq --remaining-length') values='' ;;
        'encode pingreq --format') values='hex raw base64 c' ;;
        'encode pingreq --color') values='auto always never' ;;
        'encode pingresp --flags') values='' ;;
        'encode pingresp -V'|'encode pingresp --mqtt-version') values='3.1 3.1.1 5' ;;
        'encode pingresp --remaining-length') values='' ;;
        'encode pingresp --format') values='hex raw base64 c' ;;
        'encode pingresp --color') values='auto always never' ;;
        'encode disconnect --flags') values='' ;;
        'encode disconnect --reason-code') values='' ;;
        'encode disconnect -V'|'encode disconnect --mqtt-version') values='3.1 3.1.1 5' ;;
        'encode disconnect --remaining-length') values='' ;;
        'encode disconnect --format') values='hex raw base64 c' ;;
        'encode disconnect -x'|'encode disconnect -se'|'encode disconnect --session-expiry-interval') values='never' ;;
        'encode disconnect --server-reference') values='' ;;
        'encode disconnect --reason-string') values='' ;;
        'encode disconnect -up'|'encode disconnect --user-property') values='' ;;
        'encode disconnect --color') values='auto always never' ;;
        'encode auth --flags') values='' ;;
        'encode auth --reason-code') values='' ;;
        'encode auth -V'|'encode auth --mqtt-version') values='3.1 3.1.1 5' ;;
        'encode auth --remaining-length') values='' ;;
        'encode auth --format') values='hex raw base64 c' ;;
        'encode auth -am'|'encode auth --authentication-method') values='' ;;
        'encode auth --authentication-data') values='' ;;
        'encode auth --reason-string') values='' ;;
        'encode auth -up'|'encode auth --user-property') values='' ;;
        'encode auth --color') values='auto always never' ;;
        'decode -f'|'decode --file') values='=files' ;;
        'decode --form') values='auto hex base64 escaped raw' ;;
        'decode -V'|'decode --mqtt-version') values='3.1 3.1.1 5' ;;
        'decode --direction') values='client server auto' ;;
        'decode --port') values='' ;;
        'decode --key-log') values='=files' ;;
        'decode --max-connections') values='' ;;
        'decode --html') values='=files' ;;
        'decode --parquet') values='=files' ;;
        'decode --arrow') values='=files' ;;
        'decode --filter') values='' ;;
        'decode --follow') values='' ;;
        'decode --color') values='auto always never' ;;
        'lint -f'|'lint --file') values='=files' ;;
        'lint --form') values='auto hex base64 escaped raw' ;;
        'lint -V'|'lint --mqtt-version') values='3.1 3.1.1 5' ;;
        'lint --direction') values='client server auto' ;;
        'lint --port') values='' ;;
        'lint --key-log') values='=files' ;;
        'lint --max-connections') values='' ;;
        'lint --select') values='' ;;
        'lint --ignore') values='' ;;
        'lint --severity') values='error warning note' ;;
        'lint --filter') values='' ;;
        'lint --limit') values='' ;;
        'lint --color') values='auto always never' ;;
        'explain --color') values='auto always never' ;;
        'pipeline -o'|'pipeline --out') values='=files' ;;
        'pipeline --format') values='parquet orc csv json delta iceberg' ;;
        'pipeline --mode') values='error overwrite append' ;;
        'pipeline --partition-by') values='' ;;
        'pipeline --report') values='=files' ;;
        'pipeline --against') values='=files' ;;
        'pipeline --since') values='' ;;
        'pipeline --until') values='' ;;
        'pipeline --topic') values='' ;;
        'pipeline --payload') values='keep hash drop' ;;
        'pipeline --port') values='' ;;
        'pipeline --master'|'pipeline --remote') values='' ;;
        'pipeline --conf') values='' ;;
        'pipeline --partitions') values='' ;;
        'pipeline --color') values='auto always never' ;;
        'bench -t'|'bench --topic') values='' ;;
        'bench --connections') values='' ;;
        'bench -n'|'bench --messages') values='' ;;
        'bench --duration') values='' ;;
        'bench --rate') values='' ;;
        'bench -q'|'bench --qos') values='0 1 2' ;;
        'bench -m'|'bench --message') values='' ;;
        'bench --payload') values='' ;;
        'bench -f'|'bench --file') values='=files' ;;
        'bench --format') values='text json hex base64 binary raw cbor msgpack protobuf avro' ;;
        'bench -Pp'|'bench --protobuf-path') values='=files' ;;
        'bench -Pmn'|'bench --protobuf-message-name') values='' ;;
        'bench -Ap'|'bench --avsc-path') values='=files' ;;
        'bench -S'|'bench --payload-size') values='' ;;
        'bench -M'|'bench --max-inflight') values='' ;;
        'bench -L'|'bench --url') values='' ;;
        'bench -h'|'bench --host') values='' ;;
        'bench -p'|'bench --port') values='' ;;
        'bench -V'|'bench --mqtt-version') values='3.1 3.1.1 5' ;;
        'bench -i'|'bench --client-id') values='' ;;
        'bench -I'|'bench --id-prefix') values='' ;;
        'bench -u'|'bench --username') values='' ;;
        'bench -P'|'bench --password') values='' ;;
        'bench --password-file') values='=files' ;;
        'bench -k'|'bench --keep-alive') values='' ;;
        'bench --timeout') values='' ;;
        'bench --protocol') values='mqtt mqtts ws wss' ;;
        'bench --ws-path') values='' ;;
        'bench --ws-header') values='' ;;
        'bench --unix') values='=files' ;;
        'bench --proxy') values='' ;;
        'bench -A'|'bench --bind') values='' ;;
        'bench --cafile') values='=files' ;;
        'bench --capath') values='=files' ;;
        'bench --cert') values='=files' ;;
        'bench --key') values='=files' ;;
        'bench --key-password') values='' ;;
        'bench --key-password-file') values='=files' ;;
        'bench --tls-version') values='1.2 1.3' ;;
        'bench --tls-max-version') values='1.2 1.3' ;;
        'bench --ciphers') values='' ;;
        'bench --alpn') values='' ;;
        'bench --sni') values='' ;;
        'bench --key-log') values='=files' ;;
        'bench --profile') values='=listing' listing='profile list' ;;
        'bench --color') values='auto always never' ;;
        'walkthrough --color') values='auto always never' ;;
        'broker -p'|'broker --port') values='' ;;
        'broker -A'|'broker --bind') values='' ;;
        'broker --color') values='auto always never' ;;
        'profile --color') values='auto always never' ;;
        'completion --color') values='auto always never' ;;
        'help --color') values='auto always never' ;;
    esac
    COMPREPLY=()
    if [[ $values == =files ]]; then
        _mqttpub_files
    elif [[ $values == =listing || ($values == none && $listing && $current != -*) ]]; then
        _mqttpub_matching "$("${COMP_WORDS[0]}" $listing 2>/dev/null)"
    elif [[ $values != none ]]; then
        _mqttpub_matching "$values"
    elif [[ $current == -* ]]; then
        _mqttpub_matching "$options"
    else
        _mqttpub_matching "$words"
        [[ $files ]] && _mqttpub_files
    fi
}

complete -o filenames -F _mqttpub mqttpub
